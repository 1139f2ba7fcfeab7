// SPDX-License-Identifier: Apache-2.0
#include "traffic/traffic_ground.hpp"

#include <holdfast/optimistic.hpp>

#include <gmock/gmock.h>

#include <thread>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class optimistic_conformance : public traffic_test {
protected:
    result<std::vector<reply>> spend(const std::string& key, int amount,
                                     const optimistic_options& options = {.attempts = 1000,
                                                                          .timeout = 30s}) {
        return optimistic(
            where(), {key},
            [&](attempt& now) -> result<void> {
                const auto balance = now.read({"GET", key});
                if (!balance) return std::unexpected(balance.error());
                if (std::stoi(balance->text()) < amount) return fail(errc::denied, "not enough");
                now.write({"DECRBY", key, std::to_string(amount)});
                return {};
            },
            options);
    }
};

TEST_P(optimistic_conformance, a_balance_is_never_overdrawn_by_threads_that_race) {
    const std::string key = ground_->prefix() + "balance";
    raw("SET", key, 1000);
    std::atomic<int> paid = 0;
    std::atomic<int> poor = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 6; ++t) {
            threads.emplace_back([&] {
                for (int i = 0; i < 3;) {
                    const auto done = spend(key, 100);
                    const bool refused = !done && done.error() == errc::denied;
                    if (done) ++paid;
                    if (refused) ++poor;
                    if (done || refused) ++i;  // else virtual time outran it: once more
                }
            });
        }
        // On virtual time a pause ends only if somebody moves the clock.
        while (paid + poor < 18) ground_->pass(1ms);
    }
    EXPECT_EQ(paid, 10);
    EXPECT_EQ(poor, 8);
    EXPECT_EQ(raw("GET", key).text(), "0");
}

TEST_P(optimistic_conformance, an_update_that_collides_is_repeated_and_gives_up_after_its_budget) {
    const std::string key = ground_->prefix() + "k";
    int tries = 0;
    const auto meddled = [&](int until) {
        return [&, until](attempt& now) -> result<void> {
            ++tries;
            EXPECT_EQ(now.number(), tries);
            static_cast<void>(now.read({"GET", key}));
            if (tries <= until) raw("SET", key, tries);
            now.write({"SET", key, "mine"});
            return {};
        };
    };
    const optimistic_options quick{.attempts = 3, .backoff = 0ms, .backoff_max = 0ms};
    EXPECT_TRUE(optimistic(where(), {key}, meddled(2), quick));
    EXPECT_EQ(tries, 3);
    EXPECT_EQ(raw("GET", key).text(), "mine");
    tries = 0;
    EXPECT_EQ(optimistic(where(), {key}, meddled(100), quick).error(), errc::busy);
    EXPECT_EQ(tries, 3);
    EXPECT_EQ(raw("GET", key).text(), "3");
}

TEST_P(optimistic_conformance, what_the_decision_says_ends_it_and_nothing_is_written) {
    const std::string key = ground_->prefix() + "balance";
    raw("SET", key, 50);
    EXPECT_EQ(spend(key, 100).error(), errc::denied);
    EXPECT_EQ(raw("GET", key).text(), "50");
    // The connection that was watched is clean again.
    EXPECT_EQ(spend(key, 20).value().at(0).number(), 30);
    const auto nothing = optimistic(where(), {key}, [](attempt&) { return result<void>(); });
    EXPECT_TRUE(nothing.value().empty());
}

TEST_P(optimistic_conformance, bad_calls_are_refused) {
    const auto idle = [](attempt&) { return result<void>(); };
    EXPECT_EQ(optimistic(where(), {}, idle).error(), errc::invalid_argument);
    EXPECT_EQ(optimistic(where(), {"k"}, idle, {.attempts = 0}).error(), errc::invalid_argument);
    EXPECT_EQ(optimistic(where(), {"k"}, idle, {.timeout = 0s}).error(), errc::invalid_argument);
    const auto wrong = [](attempt& now) {
        now.write({"NO-SUCH-COMMAND"});
        return result<void>();
    };
    EXPECT_EQ(optimistic(where(), {"k"}, wrong).error(), errc::unsupported);
    for (const char* word : {"MULTI", "exec", "Discard", "UNWATCH"}) {
        const auto meddles = [&](attempt& now) {
            now.write({"SET", "meddled", "1"});
            now.write({word});
            return result<void>();
        };
        EXPECT_EQ(optimistic(where(), {"k"}, meddles).error(), errc::invalid_argument) << word;
    }
}

INSTANTIATE_TEST_SUITE_P(engines, optimistic_conformance, testing::ValuesIn(traffic_engines()),
                         [](const auto& engine) { return engine.param.name; });

}  // namespace
}  // namespace holdfast::test
