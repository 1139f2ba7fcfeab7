// SPDX-License-Identifier: Apache-2.0
#include "engine_fixture.hpp"

namespace holdfast::memory_test {
namespace {

using namespace std::chrono_literals;

class expiry : public engine_test {};

TEST_F(expiry, a_key_lives_up_to_its_last_millisecond_and_no_longer) {
    ask("SET", "k", "v", "PX", "1000");
    time.advance(1000ms);
    EXPECT_EQ(say("GET", "k"), R"("v")");
    EXPECT_EQ(say("PTTL", "k"), "(integer) 0");
    time.advance(1ms);
    EXPECT_EQ(say("GET", "k"), "(nil)");
    EXPECT_EQ(say("PTTL", "k"), "(integer) -2");
}

TEST_F(expiry, setting_a_key_anew_forgets_its_expiry_unless_told_to_keep_it) {
    ask("SET", "k", "v", "PX", "1000");
    ask("SET", "k", "w", "KEEPTTL");
    EXPECT_EQ(say("PTTL", "k"), "(integer) 1000");
    ask("SET", "k", "x");
    EXPECT_EQ(say("PTTL", "k"), "(integer) -1");
}

TEST_F(expiry, conditions_compare_with_the_expiry_that_is_there) {
    ask("SET", "k", "v");
    EXPECT_EQ(say("PEXPIRE", "k", "100", "XX"), "(integer) 0");
    EXPECT_EQ(say("PEXPIRE", "k", "100", "GT"), "(integer) 0");
    EXPECT_EQ(say("PEXPIRE", "k", "100", "NX"), "(integer) 1");
    EXPECT_EQ(say("PEXPIRE", "k", "50", "GT"), "(integer) 0");
    EXPECT_EQ(say("PEXPIRE", "k", "50", "LT"), "(integer) 1");
    EXPECT_EQ(say("PEXPIRE", "k", "0"), "(integer) 1");
    EXPECT_EQ(say("EXISTS", "k"), "(integer) 0");
}

TEST_F(expiry, a_renamed_key_keeps_its_expiry) {
    ask("SET", "a", "v", "PX", "1000");
    ask("SET", "b", "w", "PX", "5");
    ask("RENAME", "a", "b");
    time.advance(500ms);
    EXPECT_EQ(say("PTTL", "b"), "(integer) 500");
}

TEST_F(expiry, keys_that_nobody_looks_at_are_removed_by_other_commands) {
    for (int i = 0; i < 100; ++i) ask("SET", "k" + std::to_string(i), "v", "PX", "10");
    time.advance(11ms);
    for (int i = 0; i < 10; ++i) ask("PING");
    EXPECT_EQ(say("DBSIZE"), "(integer) 0");
}

TEST_F(expiry, the_last_moment_there_is_can_be_asked_for) {
    EXPECT_EQ(say("SET", "k", "v", "PXAT", "9223372036854775807"), "OK");
    EXPECT_EQ(say("PEXPIRETIME", "k"), "(integer) 9223372036854775807");
    EXPECT_EQ(say("EXPIRETIME", "k"), "(integer) 9223372036854776");
}

TEST_F(expiry, an_idle_engine_is_emptied_by_tending_it) {
    for (int i = 0; i < 500; ++i) ask("SET", "k" + std::to_string(i), "v", "PX", "10");
    ask("SET", "stays", "v");
    time.advance(11ms);
    std::size_t removed = 0;
    while (const std::size_t some = engine->tend()) removed += some;
    EXPECT_GT(removed, 400U);
    EXPECT_EQ(say("DBSIZE"), "(integer) 1");
}

TEST_F(expiry, keys_expire_in_the_order_of_their_times_whatever_the_order_they_were_set_in) {
    for (int i = 0; i < 200; ++i) {
        ask("SET", "k" + std::to_string(i), "v", "PX", std::to_string(1 + i * 37 % 200));
    }
    for (int i = 0; i < 200; i += 3) ask("PERSIST", "k" + std::to_string(i));
    for (int i = 1; i < 200; i += 3) ask("DEL", "k" + std::to_string(i));
    time.advance(100ms);
    std::int64_t alive = 0;
    for (int i = 2; i < 200; i += 3) {
        const bool due = 1 + i * 37 % 200 < 100;
        EXPECT_EQ(ask("EXISTS", "k" + std::to_string(i)).number(), due ? 0 : 1) << i;
        alive += due ? 0 : 1;
    }
    EXPECT_EQ(ask("DBSIZE").number(), alive + 67);
}

TEST_F(expiry, time_is_told_by_the_clock_and_never_by_the_machine) {
    const auto seconds = [&] { return std::stoll(ask("TIME").elements()[0].text()); };
    const auto before = seconds();
    time.advance(90s);
    EXPECT_EQ(seconds() - before, 90);
}

}  // namespace
}  // namespace holdfast::memory_test
