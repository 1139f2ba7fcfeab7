// SPDX-License-Identifier: Apache-2.0
#include "lock/keeper.hpp"

#include <holdfast/client.hpp>
#include <holdfast/virtual_clock.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

/// Answers when the test says so.
class patient_store final : public lease_store {
public:
    [[nodiscard]] capabilities can() const noexcept override { return {}; }
    void exchange(std::span<const lease_request> /*requests*/,
                  std::span<result<lease_reply>> /*replies*/, time_point /*give_up*/) override {}
    void submit(std::vector<lease_request> asked, time_point /*give_up*/,
                reply_handler on_reply) override {
        requests = std::move(asked);
        answer = std::move(on_reply);
    }
    void on_push(push_handler /*handler*/) override {}
    result<std::vector<lease_info>> list(std::string_view /*prefix*/,
                                         time_point /*give_up*/) override {
        return {};
    }

    std::vector<lease_request> requests;
    reply_handler answer;
};

TEST(keeper, tells_of_a_loss_whoever_holds_the_lease_when_the_renewal_is_answered) {
    virtual_clock clock;
    seeded_entropy chance(7);
    const auto store = std::make_shared<patient_store>();
    client_options options;
    options.time = &clock;
    keeper keeps(store, clock, options,
                 std::make_shared<reporter>(options.observer, options.observer_queue,
                                            std::make_shared<counters>(), upkeep::by_hand),
                 upkeep::by_hand);
    const owner_token owner = owner_token::draw(chance);
    const auto hold = [&](std::uint64_t fence) {
        auto state = std::make_shared<lease_state>(*lock_name::make("job"), owner, lease_mode{},
                                                   30s, fencing_token{fence});
        state->occupies_queue = true;
        state->deadline = clock.now() + 30s;
        state->renew_at = clock.now();
        return state;
    };
    const auto first = hold(1);
    const auto second = hold(2);
    ASSERT_TRUE(keeps.keep(first));
    keeps.step();
    ASSERT_EQ(store->requests.size(), 1U);
    const auto renewal = std::exchange(store->answer, {});
    ASSERT_TRUE(first->end(lease_status::released, loss_reason::none));  // and passed on
    keeps.forget(*first);
    ASSERT_TRUE(keeps.keep(second));
    renewal(0, answer::lost{});
    EXPECT_EQ(second->status, lease_status::lost);
    EXPECT_EQ(second->reason, loss_reason::missing);
    EXPECT_EQ(keeps.size(), 0U);
    keeps.begin_close();
    EXPECT_EQ(keeps.close(clock.now()), 0U);
}

}  // namespace
}  // namespace holdfast::detail
