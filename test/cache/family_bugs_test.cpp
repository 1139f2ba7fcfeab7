// SPDX-License-Identifier: Apache-2.0
//
// Bugs that are put into the scripts of the leaky queue, the channel and the stock on purpose: each
// must be found by a play in virtual time, which finds nothing in the scripts as they are. Those
// of the cache are in cache_race_test.cpp, those of the leaderboard in leaderboard_model_test.cpp.
#include "cache/cache_scripts.hpp"
#include "cache/mutated_engine.hpp"

#include <holdfast/channel.hpp>
#include <holdfast/leaky_queue.hpp>
#include <holdfast/stock.hpp>
#include <holdfast/virtual_clock.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <set>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr script_bug no_bug{"none", "\x01", ""};

/// What a play found wrong first; empty if nothing.
using verdict = std::string;

/// Workers of a leaky queue, step by step: some are slow, some die, some handlers fail.
class leaky_play {
public:
    explicit leaky_play(const std::shared_ptr<mutated_engine>& engine, virtual_clock& time)
        : engine_(engine), time_(time) {}

    verdict play(std::uint64_t seed) {
        seeded_entropy chance(seed);
        for (int i = 0; i < 400 && wrong_.empty(); ++i) {
            time_.advance(std::chrono::milliseconds(chance.below(30)));
            if (chance.below(3) == 0) put();
            step(chance, chance.below(3));
        }
        for (int i = 0; i < 2000 && wrong_.empty() && queue_.size().value() > 0; ++i) {
            time_.advance(40ms);
            step(chance, 0);
        }
        if (wrong_.empty() && handled_.size() != accepted_) wrong_ = "a request was lost";
        return wrong_;
    }

private:
    static constexpr duration every = 20ms;
    static constexpr duration lease = 100ms;
    static constexpr std::size_t capacity = 5;

    struct worker {
        std::optional<std::string> request;
        time_point lease_until{};
        std::string outcome;
        bool slow = false;
    };

    void put() {
        const auto before = queue_.size().value();
        const auto done = queue_.put(std::to_string(accepted_)).value();
        if (done.accepted) ++accepted_;
        if (done.accepted != (before < capacity)) wrong_ = "the capacity is not kept";
    }

    // One worker goes on: it ends its request, if it has one, and asks for the next.
    void step(seeded_entropy& chance, std::uint64_t id) {
        worker& mine = workers_[id];
        if (mine.request && mine.slow && chance.below(8) != 0) return;
        if (mine.request) {
            const bool done = chance.below(4) != 0;
            if (done) handled_.insert(*mine.request);
            mine.outcome = done ? "done" : "failed";
            mine.request.reset();
        }
        const std::string token = fmt::format("worker-{}", id);
        const std::array<std::string_view, 6> args{token,   mine.outcome, "100000",
                                                   "20000", "1000000",    "3600000"};
        const auto& script = detail::cache_scripts::all().leaky_take;
        const auto answer = engine_->evaluate(script, keys_, args, time_.now() + 1s);
        mine.outcome.clear();
        if (!answer) {
            wrong_ = answer.error().detail;
            return;
        }
        mine.lease_until = time_.now() + lease;
        if (answer->elements()[0].text() != "take") return;
        for (const auto& [other, one] : workers_) {
            if (other != id && one.request && one.lease_until > time_.now()) {
                wrong_ = "two workers work at once";
            }
        }
        // The first of four may be late by almost one interval, and the second then on time.
        taken_.push_back(time_.now());
        if (taken_.size() >= 4 && time_.now() - taken_[taken_.size() - 4] < 2 * every) {
            wrong_ = "faster than the rate";
        }
        mine.request = answer->elements()[1].text();
        mine.slow = chance.below(4) == 0;
    }

    std::shared_ptr<mutated_engine> engine_;
    virtual_clock& time_;
    leaky_queue queue_{command_access(engine_),
                       "q",
                       {.capacity = capacity, .every = every, .lease = lease, .prefix = "l:"}};
    std::array<std::string_view, 2> keys_{"l:{q}:1:leaky_list", "l:{q}:1:leaky_state"};
    std::map<std::uint64_t, worker> workers_;
    std::set<std::string> handled_;
    std::vector<time_point> taken_;
    std::size_t accepted_ = 0;
    verdict wrong_;
};

// A reliable channel whose reader falls behind, and whose stream is lost once.
verdict play_channel(const std::shared_ptr<mutated_engine>& engine, virtual_clock& time) {
    constexpr std::size_t keep = 10;
    channel<std::string> news(command_access(engine), "news",
                              {.prefix = "c:", .reliable = true, .keep = keep});
    auto reader = news.subscribe().value();
    const auto stream = words("XLEN", "c:{news}:4:channel_stream");
    const auto left = words("PTTL", "c:{news}:4:channel_stream");
    for (int i = 1; i <= 30; ++i) {
        time.advance(5ms);
        if (!news.publish(std::to_string(i))) return "not published";
        if (i == 3) {
            for (int n = 1; n <= 3; ++n) {
                const auto seen = reader.next(0s).value();
                if (!seen || seen->value != std::to_string(n)) return "out of order";
                if (seen->lost > 0 || seen->gap) return "a loss that was none";
            }
        }
    }
    if (engine->execute(stream, time.now() + 1s)->number() > static_cast<int>(keep)) {
        return "more than is to be kept";
    }
    if (engine->execute(left, time.now() + 1s)->number() <= 0) return "it never expires";
    auto seen = reader.next(0s).value();
    if (!seen || seen->value != "21" || seen->lost != 17) return "a wrong number of lost messages";
    static_cast<void>(engine->execute(words("DEL", "c:{news}:4:channel_stream"), time.now() + 1s));
    while (reader.next(0s).value()) {
    }
    // As many as the old one had, and more: by the numbers alone it would be the old one.
    for (int i = 31; i <= 70; ++i) {
        if (!news.publish(std::to_string(i))) return "not published";
    }
    seen = reader.next(0s).value();
    if (!seen || seen->value != "61" || !seen->gap) return "a new stream is taken for the old one";
    return {};
}

verdict play_stock(const std::shared_ptr<mutated_engine>& engine, virtual_clock& time) {
    stock tickets(command_access(engine), "concert", {.prefix = "s:"});
    if (!tickets.set(3)) return "not set";
    int taken = 0;
    for (int i = 0; i < 5; ++i) {
        const auto one = tickets.take();
        if (!one) return one.error().detail;
        taken += one->taken ? 1 : 0;
    }
    if (taken != 3) return "more was taken than there was";
    const auto left = engine->execute(words("PTTL", "s:concert"), time.now() + 1s);
    return left && left->number() > 0 ? verdict() : "it never expires";
}

verdict play_all(const script_bug& bug, int& used) {
    verdict wrong;
    for (std::uint64_t seed = 1; seed <= 20 && wrong.empty(); ++seed) {
        virtual_clock time;
        const auto engine =
            std::make_shared<mutated_engine>(make_memory_engine({.time = &time}), bug);
        wrong = leaky_play(engine, time).play(seed);
        if (wrong.empty() && seed == 1) wrong = play_channel(engine, time);
        if (wrong.empty() && seed == 1) wrong = play_stock(engine, time);
        used += engine->used();
    }
    return wrong;
}

TEST(family_bugs, the_scripts_as_they_are_have_none) {
    int used = 0;
    EXPECT_EQ(play_all(no_bug, used), "");
    EXPECT_EQ(used, 0);
}

class family_bugs_test : public testing::TestWithParam<script_bug> {};

TEST_P(family_bugs_test, are_found) {
    int used = 0;
    EXPECT_NE(play_all(GetParam(), used), "");
    EXPECT_GT(used, 0) << "no script has the text that it replaces";
}

INSTANTIATE_TEST_SUITE_P(
    all, family_bugs_test,
    testing::Values(
        script_bug{"leaky_capacity_is_ignored", "waiting >= tonumber(ARGV[2])", "false"},
        script_bug{"leaky_rate_is_ignored", "if next_at > now then", "if false then"},
        script_bug{"leaky_lease_is_ignored", "tonumber(state[2]) > now", "false"},
        script_bug{"leaky_failure_is_forgotten", "ARGV[2] == 'done' or over", "true"},
        script_bug{"leaky_late_worker_ends_anothers", "ARGV[2] ~= '' and state[4] == ARGV[1]",
                   "ARGV[2] ~= ''"},
        script_bug{"leaky_burst_after_a_pause",
                   "now - next_at < interval and next_at + interval or now + interval",
                   "next_at + interval"},
        script_bug{"channel_numbers_skip", "number = number + 1", "number = number + 2"},
        script_bug{"channel_keeps_all", "'MAXLEN', ARGV[2], ", ""},
        script_bug{"channel_epoch_is_always_one",
                   "seconds_and_rest[1] * 1000 + math.floor(seconds_and_rest[2] / 1000)", "1"},
        script_bug{"channel_never_expires", "redis.call('PEXPIRE', KEYS[1], ARGV[3])\nreturn {off",
                   "return {off"},
        script_bug{"stock_goes_below_zero", "if count < n then", "if false then"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace holdfast::test
