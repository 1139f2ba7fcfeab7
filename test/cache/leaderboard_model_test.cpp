// SPDX-License-Identifier: Apache-2.0
//
// A board against a full sort: random operations, with segments that split and merge, writers that
// die between two steps, and a few processes with maps of different age. BOARD_OPERATIONS plays
// more.
#include "cache/board_map.hpp"
#include "cache/mutated_engine.hpp"
#include "driver/memory/memory_engine.hpp"

#include <holdfast/leaderboard.hpp>
#include <holdfast/virtual_clock.hpp>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

// Answers "no" to some calls: the process that made them is dead to the world from there on.
class dying_engine final : public command_engine {
public:
    explicit dying_engine(std::shared_ptr<command_engine> inner) : inner_(std::move(inner)) {}

    void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                  time_point give_up) override {
        if (dies_in_ >= 0 && dies_in_-- == 0) dead_ = true;
        if (dead_) {
            for (auto& one : replies) one = fail(errc::unavailable, "the process is dead");
            return;
        }
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
    clock& time() const noexcept override { return inner_->time(); }

    void die_in(int calls) { dies_in_ = calls; }
    void revive() {
        dies_in_ = -1;
        dead_ = false;
    }

private:
    std::shared_ptr<command_engine> inner_;
    int dies_in_ = -1;
    bool dead_ = false;
};

struct model_player {
    double score = 0;
    std::int64_t order = 0;
};

// The same in one map and one sort.
class board_model {
public:
    void set(const std::string& member, double score) {
        auto& one = players_[member];
        if (one.order != 0 && one.score == score) return;
        one = {score, ++order_};
    }
    void increase(const std::string& member, double by) {
        const auto at = players_.find(member);
        set(member, at == players_.end() ? by : at->second.score + by);
    }
    void best(const std::string& member, double score) {
        const auto at = players_.find(member);
        if (at == players_.end() || at->second.score < score) set(member, score);
    }
    bool remove(const std::string& member) { return players_.erase(member) > 0; }
    void forget(const std::string& member) { players_.erase(member); }

    std::optional<standing> rank(const std::string& member) const {
        const auto at = players_.find(member);
        if (at == players_.end()) return {};
        standing found;
        found.member = member;
        found.score = at->second.score;
        found.players = players_.size();
        found.ordinal = 1;
        found.competition = 1;
        std::vector<double> better;
        for (const auto& [name, one] : players_) {
            if (one.score > found.score) {
                ++found.competition;
                better.push_back(one.score);
            }
            if (one.score > found.score ||
                (one.score == found.score && one.order < at->second.order)) {
                ++found.ordinal;
            }
        }
        std::ranges::sort(better);
        const auto same = std::ranges::unique(better);
        found.dense = better.size() - same.size() + 1;
        return found;
    }
    std::vector<std::pair<std::string, double>> sorted() const {
        std::vector<std::pair<std::string, model_player>> all(players_.begin(), players_.end());
        std::ranges::sort(all, [](const auto& a, const auto& b) {
            return a.second.score != b.second.score ? a.second.score > b.second.score
                                                    : a.second.order < b.second.order;
        });
        std::vector<std::pair<std::string, double>> rows;
        for (const auto& [name, one] : all) rows.emplace_back(name, one.score);
        return rows;
    }

private:
    std::map<std::string, model_player> players_;
    std::int64_t order_ = 0;
};

int operations() {
    const char* given = std::getenv("BOARD_OPERATIONS");  // NOLINT(concurrency-mt-unsafe)
    return given == nullptr ? 20'000 : std::atoi(given);  // NOLINT(cert-err34-c): a tester's number
}

constexpr script_bug no_board_bug{"none", "\x01", ""};

class board_duel {
public:
    board_duel(std::size_t split_at, std::uint32_t seed, const script_bug& bug = no_board_bug)
        : engine_(std::make_shared<mutated_engine>(make_memory_engine({.time = &time_}), bug)),
          chance_(seed) {
        for (int i = 0; i < 3; ++i) {
            engines_.push_back(std::make_shared<dying_engine>(engine_));
            boards_.emplace_back(
                command_access(engines_.back()), "game",
                leaderboard_options{
                    .dense_ranks = true, .split_at = split_at, .partitions = 4, .timeout = 10s});
        }
    }

    void play(
        int count, const std::function<bool()>& over = [] { return testing::Test::HasFailure(); }) {
        for (int i = 0; i < count && !over(); ++i) {
            time_.advance(std::chrono::microseconds(1));
            step();
            if (i % 2500 == 2499) compare_all();
        }
        compare_all();
        segments = any().tend()->segments;
    }

    [[nodiscard]] int bugs_met() const { return engine_->used(); }

    /// How many there were in the end.
    std::size_t segments = 0;
    /// Some writes stop between two of their trips.
    bool deaths = false;

private:
    int below(int n) { return static_cast<int>(chance_.below(static_cast<unsigned>(n))); }
    leaderboard& any() { return boards_[static_cast<std::size_t>(below(3))]; }
    std::string player() { return "p" + std::to_string(below(1200)); }
    // Many ties, some large numbers, some fractions.
    double score() {
        switch (below(4)) {
            case 0: return below(20);
            case 1: return below(100'000);
            case 2: return below(4000) / 8.0 - 100;
            default: return std::ldexp(below(1000), below(40));
        }
    }

    void step() {
        const std::string who = player();
        switch (below(10)) {
            case 0:
            case 1:
            case 2: return deaths && below(20) == 0 ? dying_write(who) : set(who);
            case 3: {
                const double by = below(2) == 0 ? below(50) : -below(50);
                ASSERT_TRUE(any().increase(who, by));
                return model_.increase(who, by);
            }
            case 4: {
                const double value = score();
                ASSERT_TRUE(any().add(who, value, board_keep::best));
                return model_.best(who, value);
            }
            case 5: {
                if (below(3) != 0) return;
                ASSERT_EQ(any().remove(who).value(), model_.remove(who));
                return;
            }
            case 6: {
                if (below(20) == 0) {
                    ASSERT_TRUE(any().tend());
                }
                return;
            }
            default: return compare(who);
        }
    }
    void set(const std::string& who) {
        const double value = score();
        ASSERT_TRUE(any().add(who, value));
        model_.set(who, value);
    }
    // A write that stops anywhere: it counts or not, and after ten seconds somebody has ended it.
    void dying_write(const std::string& who) {
        const auto at = static_cast<std::size_t>(below(3));
        const double value = score() + 0.0625;
        engines_[at]->die_in(below(6));
        const auto done = boards_[at].add(who, value);
        engines_[at]->revive();
        time_.advance(11s);
        ASSERT_TRUE(any().tend());
        const auto now = any().rank(who).value();
        if (now && now->score == value) {
            model_.set(who, value);
        } else {
            ASSERT_FALSE(done);
        }
    }
    void compare(const std::string& who) {
        const auto seen = any().rank(who).value();
        const auto wanted = model_.rank(who);
        ASSERT_EQ(seen.has_value(), wanted.has_value()) << who;
        if (!seen) return;
        ASSERT_EQ(seen->score, wanted->score) << who;
        ASSERT_EQ(seen->ordinal, wanted->ordinal) << who;
        ASSERT_EQ(seen->competition, wanted->competition) << who;
        ASSERT_EQ(seen->dense, wanted->dense) << who;
        ASSERT_EQ(seen->players, wanted->players) << who;
    }
    void compare_all() {
        const auto rows = any().top(leaderboard::max_rows).value();
        const auto wanted = model_.sorted();
        ASSERT_EQ(rows.size(), wanted.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            ASSERT_EQ(rows[i].member, wanted[i].first) << i;
            ASSERT_EQ(rows[i].score, wanted[i].second) << i;
            ASSERT_EQ(rows[i].ordinal, i + 1);
        }
        const auto found = any().repair().value();
        ASSERT_EQ(found.missing, 0U);
        ASSERT_EQ(found.stray, 0U);
    }

    virtual_clock time_;
    std::shared_ptr<mutated_engine> engine_;
    std::vector<std::shared_ptr<dying_engine>> engines_;
    std::vector<leaderboard> boards_;
    board_model model_;
    seeded_entropy chance_;
};

TEST(leaderboard_model, one_sorted_set_is_a_full_sort) {
    board_duel(0, 1).play(operations());
}

TEST(leaderboard_model, segments_are_a_full_sort_while_they_split_and_merge) {
    board_duel duel(100, 2);
    duel.play(operations());
    EXPECT_GT(duel.segments, 8U);
}

TEST(leaderboard_model, writers_that_die_between_two_steps_leave_nothing_wrong) {
    board_duel duel(100, 3);
    duel.deaths = true;
    duel.play(operations());
}

class board_bugs_test : public testing::TestWithParam<script_bug> {};

// By a duel on one sorted set, or on segments with writers that die.
TEST_P(board_bugs_test, are_found) {
    testing::TestPartResultArray seen;
    int met = 0;
    for (const std::size_t split_at : {0U, 100U}) {
        const testing::ScopedFakeTestPartResultReporter listen(
            testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &seen);
        board_duel duel(split_at, 4, GetParam());
        duel.deaths = split_at > 0;
        try {
            duel.play(5000, [&] { return seen.size() > 0; });
        } catch (const std::exception& e) {
            ADD_FAILURE() << e.what();
        }
        met += duel.bugs_met();
    }
    EXPECT_GT(seen.size(), 0);
    EXPECT_GT(met, 0) << "no script has the text that it replaces";
}

INSTANTIATE_TEST_SUITE_P(
    all, board_bugs_test,
    testing::Values(
        script_bug{"who_comes_last_stands_higher",
                   "9007199254740991 - seconds_and_rest[1] * 1000000 - seconds_and_rest[2]",
                   "seconds_and_rest[1] * 1000000 + seconds_and_rest[2]"},
        script_bug{"best_takes_a_worse_score", "how == 'best' and score and score >= given",
                   "false"},
        script_bug{"old_entry_stays", "local gone = redis.call('ZREM', players, entry)",
                   "local gone = 0"},
        script_bug{"different_scores_stay", "redis.call('ZREM', scores, plain(score))", ""},
        script_bug{"a_segment_comes_back", "if redis.call('EXISTS', KEYS[1]) == 0 then return -1",
                   "if false then return -1"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(board_map, is_read_as_it_was_written) {
    detail::board_map map{.version = 7, .partitions = 16, .moving = {}, .segments = {}};
    map.segments = {{"a", 1, -HUGE_VAL}, {"b", 3, 0.1}, {"c", 2, 1e300}};
    EXPECT_EQ(detail::board_map::parse(map.text()), map);
    map.moving = detail::board_shift{"a", "b", 0.05};
    EXPECT_EQ(detail::board_map::parse(map.text()), map);
    EXPECT_EQ(map.segment_of(-5), 0U);
    EXPECT_EQ(map.segment_of(0.1), 1U);
    EXPECT_EQ(map.segment_of(1e301), 2U);
    const auto next = map.moved().value();
    EXPECT_EQ(next.segments[1].low, 0.05);
    EXPECT_EQ(next.segments[0].version, 2U);
    map.moving = detail::board_shift{"a", "c", 0.05};
    EXPECT_FALSE(map.moved());
    map.moving = detail::board_shift{"b", "a", std::nullopt};
    EXPECT_EQ(map.moved()->segments.size(), 2U);
    for (const char* bad : {"", "hb1 1 1", "hb1 1 1\n-\n", "hb1 1 1\n-\na 1 0\n", "hb2 1 1\n-\n",
                            "hb1 1 1\na b\na 1 -inf\n", "hb1 1 1\n-\na 1 -inf\nb 1 nan\n",
                            "hb1 1 0\n-\na 1 -inf\n"}) {
        EXPECT_FALSE(detail::board_map::parse(bad)) << bad;
    }
}

}  // namespace
}  // namespace holdfast::test
