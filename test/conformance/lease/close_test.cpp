// SPDX-License-Identifier: Apache-2.0
//
// What a client leaves on its engine when it closes: nothing, or it says how much.
#include "conformance/lease/interposed_store.hpp"
#include "conformance/lease/mutex_fixture.hpp"

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class close_promise : public mutex_case {
protected:
    static std::vector<lease> take_many(client& who, std::size_t count, duration ttl) {
        std::vector<lease> held;
        while (held.size() < count) {
            std::vector<std::string> names;
            for (std::size_t i = 0; i < std::min<std::size_t>(count - held.size(), 500); ++i) {
                names.push_back("many/" + std::to_string(held.size() + i));
            }
            const std::vector<std::string_view> words(names.begin(), names.end());
            for (auto& got : who.acquire_each(words, {.ttl = ttl})) {
                if (!got) throw std::runtime_error(got.error().detail);
                held.push_back(std::move(*got));
            }
        }
        return held;
    }
    /// More than any queue of ours, where that takes no minutes.
    [[nodiscard]] std::size_t very_many() const {
        const bool quick = GetParam().name == "memory" || GetParam().name == "redis";
        return quick && !sanitized ? 12'000 : bed->many();
    }
};

TEST_P(close_promise, nothing_is_left_of_a_client_whose_own_thread_waits_for_what_it_holds) {
    for (int round = 0; round < 8; ++round) {
        auto brief = bed->make_client({.close_timeout = 10s});
        auto held = take(brief);
        auto waiter = std::async(std::launch::async,
                                 [&] { return brief.mutex("job").acquire(options(forever)); });
        wait_for_waiters(1);
        if (round % 2 == 0) std::move(held).release().value();
        EXPECT_TRUE(brief.close());
        EXPECT_TRUE(is_free()) << "in round " << round;
        const auto told = waiter.get();
        if (told) {
            EXPECT_EQ(told->reason(), loss_reason::closed) << "granted just before";
        } else {
            EXPECT_EQ(told.error(), errc::invalid_argument);
        }
        expect_nobody_waits();
    }
}

TEST_P(close_promise, nothing_is_left_of_calls_that_are_under_way) {
    auto held = take(two);
    auto brief = bed->make_client({.close_timeout = 10s});
    std::vector<std::future<result<lease>>> all;
    for (int i = 0; i < 8; ++i) {
        all.push_back(std::async(std::launch::async, [&, i] {
            return brief.mutex(i % 2 == 0 ? "job" : "other").acquire(options(forever));
        }));
    }
    std::vector<std::future<void>> without_a_thread;
    for (int i = 0; i < 4; ++i) {
        auto done = std::make_shared<std::promise<void>>();
        without_a_thread.push_back(done->get_future());
        brief.mutex("job").acquire_async(options(forever),
                                         [done](const result<lease>&) { done->set_value(); });
    }
    wait_for("some to wait", [&] { return brief.statistics().waiting >= 4; });
    EXPECT_TRUE(brief.close());
    for (auto& one_of : all) static_cast<void>(one_of.get());
    for (auto& one_of : without_a_thread) one_of.get();
    expect_nobody_waits();
    EXPECT_TRUE(std::move(held).release());
    EXPECT_TRUE(is_free("other"));
    EXPECT_TRUE(is_free());
}

TEST_P(close_promise, everything_is_given_back_however_much_it_is) {
    auto brief = bed->make_client({.request_timeout = 60s, .close_timeout = 60s});
    const auto held = take_many(brief, very_many(), 10min);
    EXPECT_TRUE(brief.close());
    EXPECT_EQ(brief.statistics().lost_by_reason.closed, held.size());
    EXPECT_EQ(bed->leftovers().size(), 0U);
}

TEST_P(close_promise, leases_that_are_dropped_together_are_all_given_back) {
    auto brief = bed->make_client({.request_timeout = 60s, .close_timeout = 60s});
    take_many(brief, very_many(), 10min).clear();
    EXPECT_TRUE(brief.close());
    EXPECT_EQ(brief.statistics().left_to_ttl, 0U);
    EXPECT_EQ(bed->leftovers().size(), 0U);
}

TEST_P(close_promise, what_could_not_be_given_back_is_counted) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto cut_off = bed->client_on(line, {.close_timeout = 100ms});
    const auto held = take_many(cut_off, 3, ttl);
    line->set(interposed_store::line::black_hole);
    auto closing = std::async(std::launch::async, [&] { return cut_off.close(); });
    const auto said = pass_until(closing);
    ASSERT_FALSE(said);
    EXPECT_EQ(said.error(), errc::outcome_unknown);
    EXPECT_TRUE(said.error().detail.starts_with("3 leases")) << said.error().detail;
    EXPECT_EQ(cut_off.statistics().left_to_ttl, 3U);
    EXPECT_TRUE(cut_off.close()) << "the second one has nothing to do";
}

TEST_P(close_promise, what_was_lost_to_max_hold_and_is_still_in_hand_is_given_back) {
    auto brief = bed->make_client({.close_timeout = 10s});
    const auto held =
        brief.mutex("job").acquire({.ttl = 20 * ttl, .wait = 0s, .max_hold = ttl / 4}).value();
    bed->pass(ttl / 4 + 1ms);
    wait_for("the loss", [&] { return held.lost().stop_requested(); });
    EXPECT_FALSE(is_free()) << "its holder has not let go of it";
    EXPECT_TRUE(brief.close());
    EXPECT_TRUE(is_free());
}

TEST_P(close_promise, a_lease_lost_to_max_hold_is_the_next_ones_when_it_is_released) {
    for (const bool by_destructor : {false, true}) {
        std::optional<lease> held =
            one.mutex("job").acquire({.ttl = 20 * ttl, .wait = 0s, .max_hold = ttl / 4}).value();
        auto waiter = std::async(std::launch::async, [&] {
            return two.mutex("job").acquire(options(forever)).value().release();
        });
        wait_for_waiters(1);
        bed->pass(ttl / 4 + 1ms);
        wait_for("the loss", [&] { return held->lost().stop_requested(); });
        EXPECT_EQ(held->reason(), loss_reason::max_hold);
        EXPECT_EQ(waiter.wait_for(0s), std::future_status::timeout) << "it is not let go of yet";
        if (!by_destructor) {
            EXPECT_EQ(std::move(*held).release().error(), errc::lease_lost);
        }
        held.reset();
        const time_point given_back = bed->time().now();
        EXPECT_TRUE(pass_until(waiter));
        EXPECT_LT(bed->time().now() - given_back, 5 * ttl) << "not by the end of the lease";
    }
}

HOLDFAST_ON_EVERY_ENGINE(close_promise);

}  // namespace
}  // namespace holdfast::test
