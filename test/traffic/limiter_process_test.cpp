// SPDX-License-Identifier: Apache-2.0
//
// Limits that several processes share on a real Redis: with clocks that disagree, with one that is
// killed while it holds a block of tokens, and with a server that goes away.
#include "support/child_process.hpp"
#include "support/redis_cluster_group.hpp"
#include "support/redis_server.hpp"
#include "support/temporary_directory.hpp"
#include "support/wait_for.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/redis/redis.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr fixed_window shared_rule{.limit = 1000, .window = 20s};

/// limit_client, run beside the test.
class taker {
public:
    taker(const redis_server& server, const std::string& block, const std::string& takes,
          std::vector<std::string> environment = {})
        : process_({.argv = {LIMIT_CLIENT, server.url(), "shared:", block, takes},
                    .output = directory_.path() / "output",
                    .environment = std::move(environment)}) {}

    /// How many it was allowed, when it is done.
    int allowed() {
        int count = -1;
        wait_for(
            "the other process",
            [&] {
                std::ifstream in(directory_.path() / "output");
                std::string word;
                return static_cast<bool>(in >> word >> count) && word == "allowed";
            },
            60s);
        return count;
    }
    void kill() { process_.kill(); }

private:
    temporary_directory directory_;
    child_process process_;
};

int take_many(rate_limiter& limiter, int times) {
    int allowed = 0;
    for (int i = 0; i < times; ++i) {
        if (limiter.take("shared").value().allowed) ++allowed;
    }
    return allowed;
}

TEST(limits_of_several_processes, hold_although_their_clocks_are_ten_minutes_apart) {
    redis_server server;
    const std::string preload = std::string("LD_PRELOAD=") + TOLD_CLOCK_LIBRARY;
    taker ahead(server, "0", "1500", {preload, "HOLDFAST_CLOCK_AHEAD_S=600"});
    taker behind(server, "0", "1500", {preload, "HOLDFAST_CLOCK_AHEAD_S=-600"});
    auto hf = open(server.url()).value();
    rate_limiter limiter(hf, shared_rule, {.prefix = "shared:", .timeout = 5s});
    const int mine = take_many(limiter, 500);
    EXPECT_EQ(mine + ahead.allowed() + behind.allowed(), 1000);
    // A sliding rule keeps moments, and they are the server's.
    const token_bucket slow{.capacity = 10, .refill = 1, .period = 100s};
    rate_limiter bucket(hf, slow, {.prefix = "bucket:", .timeout = 5s});
    EXPECT_TRUE(bucket.take("b", 10).value().allowed);
    EXPECT_GT(bucket.take("b", 1).value().retry_after, 90s);
}

TEST(limits_of_several_processes, a_killed_holder_of_a_block_takes_it_along_and_no_more) {
    redis_server server;
    taker dies(server, "100", "30");
    ASSERT_EQ(dies.allowed(), 30);
    dies.kill();
    auto hf = open(server.url()).value();
    rate_limiter limiter(hf, shared_rule, {.prefix = "shared:", .timeout = 5s});
    // Its block of 100 is spent; the 70 that it did not use are missing until the window ends.
    EXPECT_EQ(take_many(limiter, 2000), 900);
    EXPECT_LE(server.raw("PTTL", "shared:shared").number(), 20000);
}

TEST(limits_of_several_processes, blocks_of_two_processes_never_admit_more_than_the_limit) {
    redis_server server;
    taker one(server, "64", "3000");
    taker two(server, "100", "3000");
    EXPECT_EQ(one.allowed() + two.allowed(), 1000);
}

TEST(a_limiter_whose_engine_is_away, answers_as_its_policy_says_and_counts_it) {
    redis_server server;
    auto hf = open(server.url()).value();
    const token_bucket rule{.capacity = 100, .refill = 1, .period = 100s};
    const auto with = [&](when_away away) {
        return rate_limiter(hf, rule,
                            {.timeout = 200ms, .away = away, .local_share = 4, .away_pause = 10s});
    };
    auto tells = with(when_away::tell);
    auto denies = with(when_away::deny);
    auto allows = with(when_away::allow);
    auto shares = with(when_away::local_share);
    ASSERT_TRUE(tells.take("k").value().allowed);
    server.kill();

    const auto told = tells.take("k");
    ASSERT_FALSE(told);
    EXPECT_EQ(tells.statistics().away, 1U);
    const auto denied = denies.take("k").value();
    EXPECT_FALSE(denied.allowed);
    EXPECT_EQ(denied.source, decided_by::policy);
    EXPECT_EQ(denies.statistics().away_refused, 1U);
    EXPECT_TRUE(allows.take("k").value().allowed);
    EXPECT_EQ(allows.statistics().away_allowed, 1U);
    int allowed = 0;
    for (int i = 0; i < 60; ++i) {
        if (shares.take("k").value().allowed) ++allowed;
    }
    EXPECT_EQ(allowed, 25);
    EXPECT_EQ(shares.statistics().away, 60U);
    // During the pause nobody waited for the server.
    EXPECT_EQ(shares.statistics().asked, 1U);
}

TEST(a_limiter_whose_engine_is_away, asks_again_when_the_pause_is_over) {
    redis_server server;
    auto hf = open(server.url() + "?backoff_max=20ms").value();
    rate_limiter limiter(hf, token_bucket{.capacity = 5, .refill = 1},
                         {.timeout = 500ms, .away = when_away::deny, .away_pause = 1ms});
    server.kill();
    EXPECT_EQ(limiter.take("k").value().source, decided_by::policy);
    server.restart();
    wait_for("the engine's own answer",
             [&] { return limiter.take("k").value().source == decided_by::engine; });
}

TEST(a_limiter_whose_engine_is_away, asks_for_the_keys_of_servers_that_are_there) {
    redis_cluster_group cluster;
    auto hf = open(cluster.url()).value();
    rate_limiter limiter(hf, token_bucket{.capacity = 1000, .refill = 1},
                         {.timeout = 2s, .away = when_away::deny, .away_pause = 10min});
    const auto home = [&](const std::string& key) {
        return cluster.owner_of(cluster.slot_of("{" + key + "}")).port();
    };
    const std::string gone = "k0";
    std::string there = "k1";
    for (int i = 2; home(there) == home(gone); ++i) there = "k" + std::to_string(i);
    EXPECT_EQ(limiter.take(gone).value().source, decided_by::engine);
    EXPECT_EQ(limiter.take(there).value().source, decided_by::engine);
    auto& stopped = cluster.owner_of(cluster.slot_of("{" + gone + "}"));
    stopped.pause();
    EXPECT_EQ(limiter.take(gone).value().source, decided_by::policy);
    EXPECT_EQ(limiter.take(there).value().source, decided_by::engine);
    const auto asked = limiter.statistics().asked;
    EXPECT_EQ(limiter.take(gone).value().source, decided_by::policy);
    EXPECT_EQ(limiter.statistics().asked, asked) << "it rests";
    stopped.resume();
}

TEST(once_over_a_bad_line, a_lost_answer_is_settled_by_asking_again) {
    redis_server server;
    const std::shared_ptr<command_engine> engine = open_redis(server.url()).value();
    once processed{command_access(engine)};
    const auto mine = processed.claim("m").value();
    // The same SET again, as the client repeats it when an answer was lost.
    const auto again = words("SET", "once:m", "once:" + mine.token, "NX", "GET", "PX", 60000);
    EXPECT_EQ(engine->execute(again.idempotent(), engine->time().now() + 5s).value().text(),
              "once:" + mine.token);
}

}  // namespace
}  // namespace holdfast::test
