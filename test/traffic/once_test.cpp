// SPDX-License-Identifier: Apache-2.0
#include "traffic/traffic_ground.hpp"

#include <holdfast/client.hpp>
#include <holdfast/cooldown.hpp>
#include <holdfast/once.hpp>

#include <gmock/gmock.h>

#include <array>
#include <thread>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class once_conformance : public traffic_test {};
class cooldown_conformance : public traffic_test {};

TEST_P(once_conformance, the_first_caller_in_a_window_wins_and_the_next_window_has_a_first_again) {
    once processed(where(), {.window = 200ms, .prefix = ground_->prefix()});
    EXPECT_TRUE(processed.claim("a").value().first);
    EXPECT_FALSE(processed.claim("a").value().first);
    EXPECT_TRUE(processed.claim("b").value().first);
    ground_->pass(202ms);
    EXPECT_TRUE(processed.claim("a").value().first);
}

TEST_P(once_conformance, a_retry_learns_what_the_first_caller_recorded) {
    once processed(where(), {.prefix = ground_->prefix()});
    const auto mine = processed.claim("m").value();
    EXPECT_EQ(processed.claim("m").value().recorded, std::nullopt);
    const std::string bytes("offset 42\0:more", 15);
    ASSERT_TRUE(processed.record(mine, bytes));
    EXPECT_EQ(processed.claim("m").value().recorded, bytes);
    ASSERT_TRUE(processed.record(mine, ""));
    EXPECT_EQ(processed.claim("m").value().recorded, "");
}

TEST_P(once_conformance, a_late_first_caller_cannot_record_over_the_next_one) {
    once processed(where(), {.window = 100ms, .prefix = ground_->prefix()});
    const auto late = processed.claim("m").value();
    ground_->pass(102ms);
    const auto next = processed.claim("m").value();
    ASSERT_TRUE(next.first);
    EXPECT_EQ(processed.record(late, "late").error(), errc::lease_lost);
    EXPECT_EQ(processed.forget(late).error(), errc::lease_lost);
    EXPECT_TRUE(processed.record(next, "next"));
    EXPECT_EQ(processed.record(processed.claim("m").value(), "x").error(), errc::invalid_argument);
}

TEST_P(once_conformance, who_forgets_lets_the_next_caller_be_first) {
    once processed(where(), {.prefix = ground_->prefix()});
    const auto mine = processed.claim("m").value();
    ASSERT_TRUE(processed.forget(mine));
    EXPECT_TRUE(processed.claim("m").value().first);
}

TEST_P(once_conformance, a_mark_that_nothing_was_recorded_for_can_end_sooner) {
    once processed(where(), {.window = 10s, .unrecorded = 100ms, .prefix = ground_->prefix()});
    EXPECT_TRUE(processed.claim("dies").value().first);
    const auto lives = processed.claim("lives").value();
    ASSERT_TRUE(processed.record(lives, "done"));
    ground_->pass(102ms);
    EXPECT_TRUE(processed.claim("dies").value().first);
    EXPECT_EQ(processed.claim("lives").value().recorded, "done");
}

TEST_P(once_conformance, a_batch_has_an_outcome_for_each_key_and_one_first_for_a_repeated_one) {
    once processed(where(), {.prefix = ground_->prefix()});
    const std::array<std::string_view, 5> keys{"a", "b", "", "a", "c"};
    const auto claims = processed.claim(keys);
    ASSERT_EQ(claims.size(), 5U);
    EXPECT_TRUE(claims[0].value().first);
    EXPECT_TRUE(claims[1].value().first);
    EXPECT_EQ(claims[2].error(), errc::invalid_argument);
    EXPECT_FALSE(claims[3].value().first);
    EXPECT_TRUE(claims[4].value().first);
}

TEST_P(once_conformance, the_key_is_the_prefix_and_the_key_and_another_programs_mark_counts) {
    const std::string prefix = ground_->prefix() + "msg:processed:";
    once processed(where(), {.prefix = prefix});
    EXPECT_TRUE(processed.claim("room1:77").value().first);
    EXPECT_EQ(raw("EXISTS", prefix + "room1:77").number(), 1);
    raw("SET", prefix + "room1:78", "1", "EX", 60);
    const auto later = processed.claim("room1:78").value();
    EXPECT_FALSE(later.first);
    EXPECT_EQ(later.recorded, std::nullopt);
    raw("SADD", prefix + "room1:79", "x");
    EXPECT_EQ(processed.claim("room1:79").error(), errc::corrupt);
}

TEST_P(once_conformance, of_many_threads_one_is_first) {
    once processed(where(), {.prefix = ground_->prefix()});
    std::atomic<int> first = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 8; ++t) {
            threads.emplace_back([&] {
                for (int i = 0; i < 50; ++i) {
                    if (processed.claim("m" + std::to_string(i)).value().first) ++first;
                }
            });
        }
    }
    EXPECT_EQ(first, 50);
}

TEST_P(once_conformance, bad_input_is_refused_with_what_it_takes) {
    const auto told = [&](once_options options, std::string_view key) {
        return once(where(), std::move(options)).claim(key).error();
    };
    EXPECT_EQ(told({.window = 999us}, "k"), errc::invalid_argument);
    EXPECT_EQ(told({.window = -1s}, "k"), errc::invalid_argument);
    EXPECT_EQ(told({.window = std::chrono::days(367)}, "k"), errc::invalid_argument);
    EXPECT_EQ(told({.window = 1s, .unrecorded = 2s}, "k"), errc::invalid_argument);
    EXPECT_EQ(told({.timeout = 0s}, "k"), errc::invalid_argument);
    EXPECT_EQ(told({.prefix = std::string(200, 'p')}, "k"), errc::invalid_argument);
    EXPECT_THAT(told({}, std::string(600, 'k')).detail, testing::HasSubstr("at most 512"));
    once good(where(), {.prefix = ground_->prefix()});
    const auto mine = good.claim("k").value();
    EXPECT_EQ(good.record(mine, std::string(once::max_record_bytes + 1, 'x')).error(),
              errc::invalid_argument);
}

TEST_P(cooldown_conformance, one_in_a_window_and_the_others_are_told_how_long_to_wait) {
    cooldown rooms(where(), {.window = 100ms, .prefix = ground_->prefix()});
    const auto begun = rooms.take("r").value();
    EXPECT_TRUE(begun.allowed);
    EXPECT_EQ(begun.reset_after, 100ms);
    const auto refused = rooms.take("r").value();
    EXPECT_FALSE(refused.allowed);
    EXPECT_GT(refused.retry_after, 0ms);
    EXPECT_LE(refused.retry_after, 101ms);
    EXPECT_TRUE(rooms.take("other").value().allowed);
    ground_->pass(refused.retry_after);
    EXPECT_TRUE(rooms.take("r").value().allowed);
}

TEST_P(cooldown_conformance, a_window_can_be_ended_early_and_its_key_is_prefix_and_key) {
    cooldown rooms(where(), {.window = 500ms, .prefix = ground_->prefix() + "room:cooldown:"});
    EXPECT_TRUE(rooms.take("video_123").value().allowed);
    const std::string key = ground_->prefix() + "room:cooldown:video_123";
    EXPECT_LE(raw("PTTL", key).number(), 500);
    ASSERT_TRUE(rooms.clear("video_123"));
    EXPECT_TRUE(rooms.take("video_123").value().allowed);
    raw("SET", key, "1");
    EXPECT_EQ(rooms.take("video_123").value().retry_after, decision::never);
}

TEST_P(cooldown_conformance, windows_below_a_millisecond_are_refused) {
    cooldown rooms(where(), {.window = 900us});
    EXPECT_EQ(rooms.take("r").error(), errc::invalid_argument);
    EXPECT_EQ(cooldown(where(), {.window = 0s}).take("r").error(), errc::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(engines, once_conformance, testing::ValuesIn(traffic_engines()),
                         [](const auto& engine) { return engine.param.name; });
INSTANTIATE_TEST_SUITE_P(engines, cooldown_conformance, testing::ValuesIn(traffic_engines()),
                         [](const auto& engine) { return engine.param.name; });

TEST(traffic_control, answers_unsupported_on_an_engine_that_speaks_no_redis_commands) {
    const command_access nowhere{std::shared_ptr<command_engine>()};
    EXPECT_EQ(once(nowhere).claim("k").error(), errc::unsupported);
    EXPECT_EQ(cooldown(nowhere).take("k").error(), errc::unsupported);
}

TEST(traffic_control, works_on_what_open_gives) {
    auto hf = open("memory:").value();
    EXPECT_TRUE(once(hf).claim("k").value().first);
    EXPECT_FALSE(once(hf).claim("k").value().first);
}

}  // namespace
}  // namespace holdfast::test
