// SPDX-License-Identifier: Apache-2.0
#include "command/key_text.hpp"
#include "support/wait_for.hpp"
#include "traffic/traffic_ground.hpp"

#include <holdfast/client.hpp>
#include <holdfast/latch.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Carries out once or twice what it is told, twice as after a lost answer. Something else may
/// happen after the first time.
class shaky_engine final : public command_engine {
public:
    enum class times : std::uint8_t { once, twice };

    explicit shaky_engine(std::shared_ptr<command_engine> inner, times how = times::twice,
                          std::function<void()> meanwhile = {})
        : inner_(std::move(inner)), how_(how), meanwhile_(std::move(meanwhile)) {}

    void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                  time_point give_up) override {
        inner_->exchange(commands, replies, give_up);
        if (const auto act = std::exchange(meanwhile_, {})) act();
        if (how_ == times::once) return;
        for (const command& one : commands) ASSERT_EQ(one.again, repeat::idempotent);
        inner_->exchange(commands, replies, give_up);
    }
    void submit(const command& c, time_point give_up, completion done) override {
        inner_->submit(c, give_up, std::move(done));
    }
    result<reply> transaction(std::span<const command> commands, time_point give_up) override {
        return inner_->transaction(commands, give_up);
    }
    result<std::unique_ptr<command_session>> open_session(std::string_view key,
                                                          time_point give_up) override {
        return inner_->open_session(key, give_up);
    }
    result<std::unique_ptr<subscription>> subscribe(std::string_view channel, channel_scope scope,
                                                    push_handler handler,
                                                    time_point give_up) override {
        return inner_->subscribe(channel, scope, std::move(handler), give_up);
    }
    [[nodiscard]] clock& time() const noexcept override { return inner_->time(); }

private:
    const std::shared_ptr<command_engine> inner_;
    const times how_;
    std::function<void()> meanwhile_;
};

class latch_conformance : public traffic_test {
protected:
    /// What it answers. On a file it looks, by a clock that stands still unless it is told.
    template <class T>
    T soon(std::future<T>& waiter) {
        while (waiter.wait_for(1ms) != std::future_status::ready) {
            if (GetParam().name == "sqlite") ground_->pass(1ms);
        }
        return waiter.get();
    }
    latch of(std::uint32_t count, std::string_view name = "all", duration life = 1h) {
        return {where(), name, count, {.life = life, .prefix = ground_->prefix()}};
    }
    std::string key(std::string_view name = "all") {
        return std::string(detail::kept_key(ground_->prefix(), name, detail::kept::latch).view());
    }
    std::int64_t life_left() { return raw("PTTL", key()).number(); }
};

TEST_P(latch_conformance, opens_when_the_last_one_has_arrived_and_stays_open) {
    EXPECT_EQ(of(3).try_wait(), false);
    EXPECT_EQ(of(3).count_down(), 2U);
    EXPECT_EQ(of(3).count_down(2), 0U);
    EXPECT_EQ(of(3).try_wait(), true);
    EXPECT_TRUE(of(3).wait({.wait = 0s}));
    EXPECT_EQ(of(3, "other").try_wait(), false) << "each name is a latch of its own";
}

TEST_P(latch_conformance, wakes_everyone_who_waits) {
    std::vector<std::future<result<void>>> waiters;
    for (int i = 0; i < 8; ++i) {
        waiters.push_back(std::async(std::launch::async, [&] { return of(2).wait(); }));
    }
    EXPECT_EQ(of(2).count_down(), 1U);
    EXPECT_TRUE(of(2).arrive_and_wait());
    for (auto& one : waiters) EXPECT_TRUE(soon(one));
}

TEST_P(latch_conformance, a_crowd_that_arrives_and_waits_leaves_together) {
    std::atomic<int> before = 0;
    std::vector<std::future<bool>> crowd;
    for (int i = 0; i < 12; ++i) {
        crowd.push_back(std::async(std::launch::async, [&] {
            ++before;
            return of(12).arrive_and_wait() && before == 12;
        }));
    }
    for (auto& one : crowd) EXPECT_TRUE(soon(one));
}

TEST_P(latch_conformance, a_wait_ends_when_its_time_is_over_or_it_is_cancelled) {
    EXPECT_EQ(of(1).wait({.wait = 0s}).error(), errc::timed_out);
    std::stop_source stop;
    auto waiter = std::async(std::launch::async,
                             [&] { return of(1).wait({.stop = stop.get_token()}).error(); });
    wait_for("it to look", [&] { return life_left() > 0; });
    stop.request_stop();
    EXPECT_EQ(waiter.get(), errc::cancelled);
    EXPECT_EQ(of(1).wait({.stop = stop.get_token()}).error(), errc::cancelled);
    auto late = std::async(std::launch::async, [&] { return of(1).wait({.wait = 300ms}).error(); });
    for (bool over = false; !over; over = late.wait_for(0s) == std::future_status::ready) {
        ground_->pass(50ms);
    }
    EXPECT_EQ(late.get(), errc::timed_out);
}

TEST_P(latch_conformance, one_that_nobody_touched_for_its_life_is_forgotten) {
    EXPECT_EQ(of(2, "all", 300ms).count_down(), 1U);
    ground_->pass(302ms);
    EXPECT_EQ(of(2, "all", 300ms).count_down(), 1U) << "another one, with the same name";
    EXPECT_GT(life_left(), 0);
    ground_->pass(302ms);
    EXPECT_EQ(raw("EXISTS", key()), reply::integer(0));
}

TEST_P(latch_conformance, everyone_must_name_the_same_count) {
    EXPECT_EQ(of(3).count_down(), 2U);
    const auto other = of(4).count_down();
    EXPECT_EQ(other.error(), errc::invalid_argument);
    EXPECT_THAT(other.error().detail, HasSubstr("a count of 3, not 4"));
    EXPECT_EQ(of(4).wait({.wait = 0s}).error(), errc::invalid_argument);
    EXPECT_EQ(of(3).count_down(), 1U);
}

TEST_P(latch_conformance, more_than_are_missing_cannot_arrive) {
    EXPECT_EQ(of(3).count_down(2), 1U);
    const auto many = of(3).count_down(2);
    EXPECT_EQ(many.error(), errc::invalid_argument);
    EXPECT_THAT(many.error().detail, HasSubstr("misses only 1"));
    EXPECT_EQ(of(3).count_down(), 0U) << "the refused one counted nothing";
    EXPECT_EQ(of(3).count_down().error(), errc::invalid_argument);
    EXPECT_EQ(of(3).count_down(0).error(), errc::invalid_argument);
    EXPECT_EQ(of(3).count_down(4).error(), errc::invalid_argument);
}

TEST_P(latch_conformance, an_arrival_whose_answer_was_lost_counts_once) {
    latch shaky(command_access(std::make_shared<shaky_engine>(ground_->engine())), "all", 2,
                {.prefix = ground_->prefix()});
    EXPECT_EQ(shaky.count_down(), 1U);
    EXPECT_EQ(shaky.count_down(), 0U) << "also the last one";
}

TEST_P(latch_conformance, a_reset_begins_a_new_round_in_which_all_are_missing) {
    EXPECT_EQ(of(2).count_down(), 1U);
    EXPECT_TRUE(of(2).reset());
    EXPECT_EQ(of(2).count_down(), 1U);
    EXPECT_EQ(of(2).count_down(), 0U);
    EXPECT_TRUE(of(2).reset()) << "also of one that is open";
    EXPECT_EQ(of(2).try_wait(), false);
    EXPECT_TRUE(of(3).reset()) << "the new round may have another count";
    EXPECT_EQ(of(3).count_down(), 2U);
    EXPECT_EQ(of(2).try_wait().error(), errc::invalid_argument);
    EXPECT_GT(life_left(), 60'000);
}

TEST_P(latch_conformance, one_that_was_removed_is_made_anew_by_the_next_touch) {
    EXPECT_EQ(of(2).remove(), false) << "there is none";
    EXPECT_EQ(raw("EXISTS", key()), reply::integer(0));
    EXPECT_EQ(of(2).count_down(2), 0U);
    EXPECT_EQ(of(2).remove(), true);
    EXPECT_LE(life_left(), 10'000) << "what is left is not left for long";
    EXPECT_EQ(of(2).remove(), false);
    EXPECT_EQ(of(3).count_down(), 2U);
    EXPECT_GT(life_left(), 60'000);
    EXPECT_EQ(of(3).remove(), true);
    EXPECT_EQ(of(2).try_wait(), false);
}

TEST_P(latch_conformance, who_waits_is_told_when_it_is_reset_or_removed) {
    for (const char* name : {"reset", "removed"}) {
        const auto misses = [&](const char* left) {
            wait_for("it to look",
                     [&] { return raw("HGET", key(name), "left") == reply::string(left); });
        };
        auto waiter = std::async(std::launch::async, [&] { return of(2, name).wait(); });
        misses("2");
        auto arrived =
            std::async(std::launch::async, [&] { return of(2, name).arrive_and_wait(); });
        misses("1");
        if (std::string_view(name) == "reset") {
            EXPECT_TRUE(of(2, name).reset());
        } else {
            EXPECT_EQ(of(2, name).remove(), true);
        }
        EXPECT_EQ(soon(waiter).error(), errc::cancelled);
        const auto told = soon(arrived);
        EXPECT_EQ(told.error(), errc::cancelled);
        EXPECT_THAT(told.error().detail, HasSubstr("was reset, removed or forgotten"));
    }
}

TEST_P(latch_conformance, who_has_not_looked_since_it_opened_learns_that_it_did) {
    for (const char* name : {"reset", "removed"}) {
        const auto opens_and_ends = [&] {
            EXPECT_EQ(of(2, name).count_down(), 0U);
            if (std::string_view(name) == "reset") {
                EXPECT_TRUE(of(2, name).reset());
            } else {
                EXPECT_EQ(of(2, name).remove(), true);
                EXPECT_EQ(of(2, name).count_down(), 1U) << "and it was made anew";
            }
        };
        // All of that happens after it has arrived, and before it looks.
        latch mine(command_access(std::make_shared<shaky_engine>(
                       ground_->engine(), shaky_engine::times::once, opens_and_ends)),
                   name, 2, {.prefix = ground_->prefix()});
        EXPECT_TRUE(mine.arrive_and_wait());
        EXPECT_EQ(of(2, name).try_wait(), false);
    }
}

TEST_P(latch_conformance, a_reset_or_removal_whose_answer_was_lost_counts_once) {
    const auto shaky = [&](const std::function<void()>& meanwhile) {
        return latch(command_access(std::make_shared<shaky_engine>(
                         ground_->engine(), shaky_engine::times::twice, meanwhile)),
                     "all", 2, {.prefix = ground_->prefix()});
    };
    EXPECT_EQ(of(2).count_down(), 1U);
    EXPECT_TRUE(shaky([&] { EXPECT_EQ(of(2).count_down(), 1U); }).reset());
    EXPECT_EQ(of(2).count_down(), 0U) << "what arrived after it stays counted";
    EXPECT_EQ(shaky([&] { EXPECT_EQ(of(2).count_down(), 1U); }).remove(), true);
    EXPECT_EQ(of(2).count_down(), 0U);
}

TEST_P(latch_conformance, waiting_keeps_one_with_a_short_life) {
    auto waiter =
        std::async(std::launch::async, [&] { return of(2, "all", 900ms).arrive_and_wait(); });
    wait_for("it to arrive", [&] { return life_left() > 0; });
    // It looks each third of the life. When a look is due the waiter gets a moment to notice; one
    // that read its last answer late, in virtual time, looks a little later.
    for (int i = 0; i < 100; ++i) {
        ground_->pass(20ms);
        for (int moment = 0; moment < 200 && life_left() <= 500; ++moment) {
            // style: allow clock, because that is another thread's work
            std::this_thread::sleep_for(1ms);
        }
        ASSERT_GT(life_left(), 0);
    }
    EXPECT_EQ(of(2, "all", 900ms).count_down(), 0U);
    EXPECT_TRUE(soon(waiter));
}

TEST_P(latch_conformance, bad_names_counts_and_options_are_refused_without_a_trip) {
    EXPECT_EQ(of(0).try_wait().error(), errc::invalid_argument);
    EXPECT_EQ(of(latch::max_count + 1).try_wait().error(), errc::invalid_argument);
    EXPECT_EQ(of(1, "").count_down().error(), errc::invalid_argument);
    EXPECT_EQ(of(1, "a\nb").wait().error(), errc::invalid_argument);
    EXPECT_EQ(of(1, "a", 0s).try_wait().error(), errc::invalid_argument);
    EXPECT_EQ(of(1).wait({.wait = -1s}).error(), errc::invalid_argument);
    EXPECT_EQ(of(1).arrive_and_wait(1, {.wait = -1s}).error(), errc::invalid_argument);
    EXPECT_EQ(of(1).try_wait(), false) << "and nothing was counted";
    latch nowhere(command_access(std::shared_ptr<command_engine>()), "a", 1);
    EXPECT_EQ(nowhere.count_down().error(), errc::unsupported);
}

TEST_P(latch_conformance, a_key_of_another_kind_is_corrupt_and_not_touched) {
    raw("SET", key(), "mine");
    EXPECT_EQ(of(1).count_down().error(), errc::corrupt);
    EXPECT_EQ(of(1).wait().error(), errc::corrupt);
    EXPECT_EQ(raw("GET", key()), reply::string("mine"));
    raw("DEL", key());
    raw("HSET", key(), "field", "mine");
    EXPECT_EQ(of(1).count_down().error(), errc::corrupt);
    EXPECT_EQ(of(1).reset().error(), errc::corrupt);
    EXPECT_EQ(of(1).remove().error(), errc::corrupt);
    EXPECT_EQ(raw("HLEN", key()).number(), 1);
    EXPECT_EQ(raw("PTTL", key()).number(), -1);
}

INSTANTIATE_TEST_SUITE_P(on, latch_conformance, testing::ValuesIn(traffic_engines()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace holdfast::test
