// SPDX-License-Identifier: Apache-2.0
#include "lease/quorum/quorum_lease_store.hpp"

#include "quorum_of.hpp"

#include <holdfast/virtual_clock.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace holdfast::detail {
namespace {

using testing::ElementsAre;

/// Cannot be reached, and remembers what it was asked.
class absent_store final : public lease_store {
public:
    [[nodiscard]] capabilities can() const noexcept override { return {}; }
    void exchange(std::span<const lease_request> requests, std::span<result<lease_reply>> replies,
                  time_point /*give_up*/) override {
        for (std::size_t i = 0; i < requests.size(); ++i) {
            const auto* wanted = std::get_if<ask::acquire>(&requests[i]);
            if (wanted != nullptr) again.push_back(wanted->again);
            replies[i] = fail(errc::unavailable, "not connected");
        }
    }
    void on_push(push_handler /*handler*/) override {}
    [[nodiscard]] result<std::vector<lease_info>> list(std::string_view /*prefix*/,
                                                       time_point /*give_up*/) override {
        return fail(errc::unsupported, "it has none");
    }

    std::vector<bool> again;
};

// Only an owner's first request may be carried out in a way that asks nothing of what there was
// before; one that could not be reached for long may do so late.
TEST_F(quorum_of, one_that_asks_once_more_says_so_to_its_nodes) {
    virtual_clock time;
    const auto node = std::make_shared<absent_store>();
    quorum_lease_store store({{"a", node}}, time, chance, {.background = upkeep::by_hand});
    for (int i = 0; i < 3; ++i) {
        store.submit({acquire(ask::when_busy::join_queue)}, time.now() + 1s,
                     [](std::size_t, const result<lease_reply>& said) {
                         EXPECT_EQ(said.error(), errc::unavailable);
                     });
    }
    EXPECT_THAT(node->again, ElementsAre(false, true, true));
}

}  // namespace
}  // namespace holdfast::detail
