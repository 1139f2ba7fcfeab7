// SPDX-License-Identifier: Apache-2.0
//
// What a board of either kind must do, on every engine.
#include "cache/cache_ground.hpp"

#include <holdfast/leaderboard.hpp>

#include <gmock/gmock.h>

#include <thread>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class leaderboard_test : public cache_test {
protected:
    leaderboard board(std::size_t split_at, leaderboard_options options = {}) {
        options.split_at = split_at;
        options.partitions = 4;
        options.prefix = ground_->prefix();
        options.timeout = 10s;
        return leaderboard(where(), "game", options);
    }
    // One sorted set, and segments.
    std::vector<leaderboard> both(const leaderboard_options& options = {}) {
        auto other = options;
        other.season = "segmented";
        return {board(0, options), board(100, other)};
    }
    void write(leaderboard& to, const std::string& member, double score) {
        ASSERT_TRUE(to.add(member, score));
        // Who comes first must come first on the servers' clocks too.
        ground_->pass(1ms);
    }
};

INSTANTIATE_TEST_SUITE_P(engines, leaderboard_test, testing::ValuesIn(cache_engines()),
                         engine_name);

std::string shown(const std::vector<board_row>& rows) {
    std::string text;
    for (const auto& row : rows) {
        text += row.member + ":" + std::to_string(static_cast<int>(row.score)) + ":" +
                std::to_string(row.ordinal) + std::to_string(row.competition) +
                std::to_string(row.dense) + " ";
    }
    return text;
}

TEST_P(leaderboard_test, ranks_ordinal_competition_and_dense_with_ties_by_who_came_first) {
    for (auto& players : both({.dense_ranks = true})) {
        write(players, "zoe", 30);
        write(players, "ann", 20);
        write(players, "bob", 20);
        write(players, "cid", 10);
        EXPECT_EQ(shown(players.top(10).value()), "zoe:30:111 ann:20:222 bob:20:322 cid:10:443 ");
        EXPECT_EQ(shown(players.top(1).value()), "zoe:30:111 ");
        EXPECT_EQ(shown(players.top(2, 2).value()), "bob:20:322 cid:10:443 ");
        EXPECT_EQ(shown(players.around("bob", 1).value()), "ann:20:222 bob:20:322 cid:10:443 ");
        EXPECT_EQ(shown(players.around("zoe", 1).value()), "zoe:30:111 ann:20:222 ");
        const auto bob = players.rank("bob").value().value();
        EXPECT_EQ(bob.ordinal, 3U);
        EXPECT_EQ(bob.competition, 2U);
        EXPECT_EQ(bob.dense, 2U);
        EXPECT_EQ(bob.players, 4U);
        EXPECT_EQ(bob.percentile(), 75);
        EXPECT_EQ(players.rank("zoe").value()->percentile(), 100);
        EXPECT_FALSE(players.rank("nobody").value());
        EXPECT_TRUE(players.around("nobody", 3)->empty());
        EXPECT_EQ(players.size().value(), 4U);
    }
}

TEST_P(leaderboard_test, an_unchanged_score_keeps_its_place_and_a_new_one_goes_behind) {
    for (auto& players : both()) {
        write(players, "ann", 20);
        write(players, "bob", 20);
        EXPECT_FALSE(players.add("ann", 20)->changed);
        EXPECT_EQ(players.rank("ann").value()->ordinal, 1U);
        write(players, "ann", 5);
        write(players, "ann", 20);
        EXPECT_EQ(players.rank("ann").value()->ordinal, 2U);
        EXPECT_EQ(players.size().value(), 2U);
    }
}

TEST_P(leaderboard_test, a_score_is_set_increased_kept_at_its_best_and_removed) {
    for (auto& players : both()) {
        EXPECT_EQ(players.increase("ann", 5).value().score, 5);
        EXPECT_EQ(players.increase("ann", 2.5).value().score, 7.5);
        EXPECT_EQ(players.add("ann", 3, board_keep::best).value().score, 7.5);
        EXPECT_EQ(players.add("ann", 9, board_keep::best).value().score, 9);
        EXPECT_EQ(players.add("ann", 3).value().score, 3);
        EXPECT_EQ(players.increase("ann", -10).value().score, -7);
        EXPECT_EQ(players.rank("ann").value()->score, -7);
        EXPECT_TRUE(players.remove("ann").value());
        EXPECT_FALSE(players.remove("ann").value());
        EXPECT_FALSE(players.rank("ann").value());
        EXPECT_EQ(players.size().value(), 0U);
        EXPECT_EQ(players.add("ann", HUGE_VAL).error(), errc::invalid_argument);
        EXPECT_EQ(players.add("", 1).error(), errc::invalid_argument);
        EXPECT_EQ(players.top(0).error(), errc::invalid_argument);
    }
}

TEST_P(leaderboard_test, the_lowest_may_be_first) {
    for (auto& players : both({.order = board_order::lowest_first})) {
        write(players, "slow", 12.5);
        write(players, "fast", 9.5);
        EXPECT_EQ(players.add("fast", 11, board_keep::best).value().score, 9.5);
        const auto rows = players.top(2).value();
        ASSERT_EQ(rows.size(), 2U);
        EXPECT_EQ(rows[0].member, "fast");
        EXPECT_EQ(rows[0].score, 9.5);
        EXPECT_EQ(players.rank("slow").value()->ordinal, 2U);
    }
}

TEST_P(leaderboard_test, seasons_are_boards_of_their_own) {
    for (auto& players : both()) {
        auto may = players.in_season("2026-05");
        ASSERT_TRUE(may.add("ann", 1));
        EXPECT_EQ(players.size().value(), 0U);
        EXPECT_EQ(may.size().value(), 1U);
        ASSERT_TRUE(may.drop());
        EXPECT_EQ(may.size().value(), 0U);
        EXPECT_EQ(players.in_season("a/b").size().error(), errc::invalid_argument);
    }
}

TEST_P(leaderboard_test, segments_split_and_merge_and_every_rank_stays_exact) {
    auto players = board(100, {.dense_ranks = true});
    constexpr int count = 1300;
    for (int i = 0; i < count; ++i) {
        ASSERT_TRUE(players.add("p" + std::to_string(i), (i * 7919) % count));
    }
    const auto grown = players.tend().value();
    EXPECT_GT(grown.segments, 2U);
    EXPECT_EQ(players.size().value(), static_cast<std::uint64_t>(count));
    for (int i = 0; i < count; i += 37) {
        const auto found = players.rank("p" + std::to_string(i)).value().value();
        EXPECT_EQ(found.ordinal, static_cast<std::uint64_t>(count - (i * 7919) % count)) << i;
        EXPECT_EQ(found.dense, found.ordinal);
    }
    const auto rows = players.top(1000, 200).value();
    ASSERT_EQ(rows.size(), 1000U);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        ASSERT_EQ(rows[i].ordinal, 201 + i);
        ASSERT_EQ(rows[i].score, count - 201 - static_cast<int>(i));
        ASSERT_EQ(rows[i].dense, rows[i].ordinal);
    }
    for (int i = 30; i < count; ++i) ASSERT_TRUE(players.remove("p" + std::to_string(i)).value());
    const auto shrunk = players.tend().value();
    EXPECT_LT(shrunk.segments, grown.segments);
    EXPECT_EQ(players.top(100)->size(), 30U);
    const auto found = players.repair().value();
    EXPECT_EQ(found.players, 30U);
    EXPECT_EQ(found.missing + found.stray, 0U);
}

TEST_P(leaderboard_test, writers_on_several_threads_leave_nothing_behind_while_segments_split) {
    auto players = board(100);
    const int threads = virtual_time() ? 2 : 4;
    {
        std::vector<std::jthread> writers;
        for (int t = 0; t < threads; ++t) {
            writers.emplace_back([&, t] {
                for (int i = 0; i < 150; ++i) {
                    // The same players from all threads.
                    const auto name = "p" + std::to_string((i * 7) % 40);
                    EXPECT_TRUE(players.increase(name, t + 1));
                    EXPECT_TRUE(players.add("q" + std::to_string(t * 1000 + i), i));
                }
            });
        }
    }
    double sum = 0;
    for (int i = 0; i < 40; ++i) sum += players.rank("p" + std::to_string(i)).value()->score;
    EXPECT_EQ(sum, 150.0 * threads * (threads + 1) / 2);
    const auto count = static_cast<std::uint64_t>(40 + 150 * threads);
    EXPECT_EQ(players.size().value(), count);
    const auto rows = players.top(leaderboard::max_rows).value();
    ASSERT_EQ(rows.size(), count);
    for (std::size_t i = 1; i < rows.size(); ++i) ASSERT_GE(rows[i - 1].score, rows[i].score);
    const auto found = players.repair().value();
    EXPECT_EQ(found.missing + found.stray, 0U);
}

TEST_P(leaderboard_test, repair_mends_what_was_lost_or_left_behind) {
    auto players = board(100);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(players.add("p" + std::to_string(i), i));
    // The key of the only segment, as the map has it.
    const auto map = raw("GET", ground_->prefix() + "{game}:4:board_map").text();
    const auto id = map.substr(map.find("-\n") + 2, 16);
    const auto key = ground_->prefix() + "{game#" + id + "}:21:board_players:1";
    ASSERT_EQ(raw("ZCARD", key).number(), 21);
    raw("ZREM", key, raw("ZRANGE", key, "1", "1").elements().at(0).text());
    raw("ZADD", key, "7", "1234567890123456:p3");
    const auto found = players.repair().value();
    EXPECT_EQ(found.missing, 1U);
    EXPECT_EQ(found.stray, 1U);
    EXPECT_EQ(players.repair()->missing + players.repair()->stray, 0U);
    raw("DEL", key);
    EXPECT_EQ(players.size().error(), errc::corrupt);
    EXPECT_EQ(players.repair()->missing, 20U);
    EXPECT_EQ(players.size().value(), 20U);
    EXPECT_EQ(players.rank("p19").value()->ordinal, 1U);
}

TEST_P(leaderboard_test, every_key_expires) {
    for (auto& players : both({.dense_ranks = true, .life = 1h})) {
        ASSERT_TRUE(players.add("ann", 1));
    }
    auto many = board(100, {.season = "s", .life = 1h});
    for (int i = 0; i < 700; ++i) ASSERT_TRUE(many.add("p" + std::to_string(i), i));
    if (GetParam().name == "redis_cluster") return;  // KEYS asks one node
    const auto keys = raw("KEYS", ground_->prefix() + "*");
    EXPECT_GT(keys.elements().size(), 10U);
    for (const auto& key : keys.elements()) {
        EXPECT_GT(raw("PTTL", key.text()).number(), 0) << key.text();
    }
}

}  // namespace
}  // namespace holdfast::test
