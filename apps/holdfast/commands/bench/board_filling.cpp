// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/board_filling.hpp"

#include "cache/board_keys.hpp"
#include "cache/board_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;
namespace kept = detail::kept;

constexpr std::uint64_t at_once = 4096;
constexpr std::size_t partitions = 16;
// On a server of the user's, what a killed measurement leaves goes by itself.
constexpr std::string_view life_ms = "3600000";

detail::board_keys keys_of(const std::string& name) {
    return {filled_board::prefix, name};
}

// A player's time: the later, the less (docs/internals/board_format.md).
std::string stamp_of(std::uint64_t player) {
    constexpr std::uint64_t begin = 9'007'199'254'740'991 - 1'700'000'000'000'000;
    return fmt::format("{:016}", begin - player);
}

std::uint64_t score_of_player(std::uint64_t player) {
    return player / 2;
}

/// Commands of any length, collected by key.
class filling {
public:
    void add(std::string_view verb, const std::string& key, std::string first, std::string second) {
        auto& command = commands_[key];
        if (command.empty()) command = {std::string(verb), key};
        command.push_back(std::move(first));
        command.push_back(std::move(second));
    }
    result<void> send(command_engine& on) {
        std::vector<std::vector<std::string_view>> texts;
        for (const auto& [key, command] : commands_) {
            texts.emplace_back(command.begin(), command.end());
            texts.push_back({"PEXPIRE", key, life_ms});
        }
        std::vector<holdfast::command> all;
        for (const auto& text : texts) all.push_back({text, repeat::idempotent});
        std::vector<result<reply>> answers(all.size());
        on.exchange(all, answers, on.time().now() + 30s);
        for (const auto& answer : answers) {
            if (!answer) return std::unexpected(answer.error());
            if (answer->is_error()) return fail(errc::unavailable, answer->text());
        }
        commands_.clear();
        return {};
    }

private:
    std::map<std::string, std::vector<std::string>> commands_;
};

}  // namespace

std::string filled_board::member(std::uint64_t player) {
    return fmt::format("player-{}", player);
}

std::string filled_board::entry(std::uint64_t player) {
    return fmt::format("{}:{}", stamp_of(player), member(player));
}

std::uint64_t filled_board::competition(std::uint64_t player) const {
    const std::uint64_t not_better = 2 * (score_of_player(player) + 1);
    return players - std::min(players, not_better) + 1;
}

std::uint64_t filled_board::ordinal(std::uint64_t player) const {
    return competition(player) + player % 2;
}

std::string filled_board::players_key() const {
    return std::string(detail::kept_key(prefix, name, kept::board_players).view());
}

int filled_board::segment_of(std::uint64_t player) const {
    const std::uint64_t scores = (players + 1) / 2;
    return static_cast<int>(score_of_player(player) * static_cast<std::uint64_t>(segments) /
                            scores);
}

// The least score s with s * segments / scores == segment.
std::uint64_t filled_board::first_score(int segment) const {
    const std::uint64_t scores = (players + 1) / 2;
    const auto all = static_cast<std::uint64_t>(segments);
    return (static_cast<std::uint64_t>(segment) * scores + all - 1) / all;
}

// The map, and what keeps a segment from being empty.
result<void> filled_board::begin(command_engine& on) const {
    const auto keys = keys_of(name);
    detail::board_map map{.version = 1, .partitions = partitions, .moving = {}, .segments = {}};
    filling first;
    for (int i = 0; i < segments; ++i) {
        const double low = i == 0 ? -HUGE_VAL : static_cast<double>(first_score(i));
        map.segments.push_back({fmt::format("s{}", i), detail::first_version, low});
        first.add("ZADD", keys.segment(map.segments.back().id, 1, kept::board_players), "-inf",
                  "-");
    }
    if (auto done = first.send(on); !done) return done;
    const std::string key = keys.map();
    const std::string text = map.text();
    const auto set = words("SET", key, text, "PX", life_ms);
    const auto done = on.execute(set.idempotent(), on.time().now() + 30s);
    if (!done) return std::unexpected(done.error());
    return {};
}

result<void> filled_board::fill(command_engine& on) const {
    if (segments > 0) {
        if (auto done = begin(on); !done) return done;
    }
    const auto keys = keys_of(name);
    const auto members = std::string(detail::kept_key(prefix, name, kept::board_members).view());
    // A step that has no factor in common with the number visits each player once.
    std::uint64_t step = 2'654'435'761 % std::max<std::uint64_t>(players, 2);
    while (step == 0 || std::gcd(step, players) != 1) ++step;
    filling part;
    std::uint64_t player = 0;
    for (std::uint64_t n = 0; n < players; ++n) {
        const std::string score = std::to_string(score_of_player(player));
        if (segments == 0) {
            part.add("ZADD", players_key(), score, entry(player));
            part.add("HSET", members, member(player),
                     fmt::format("{}:{}", stamp_of(player), score));
        } else {
            const auto segment = fmt::format("s{}", segment_of(player));
            part.add("ZADD", keys.segment(segment, 1, kept::board_players), score, entry(player));
            const auto at = detail::board_partition(member(player), partitions);
            part.add("HSET", keys.partition(at, kept::board_members), member(player),
                     fmt::format("{}:{}", score, stamp_of(player)));
        }
        player = (player + step) % players;
        if ((n + 1) % at_once != 0 && n + 1 != players) continue;
        if (auto done = part.send(on); !done) return done;
    }
    return {};
}

result<void> filled_board::drop(command_engine& on) const {
    const auto keys = keys_of(name);
    std::vector<std::string> all{
        keys.map(), players_key(),
        std::string(detail::kept_key(prefix, name, kept::board_members).view())};
    for (int i = 0; i < segments; ++i) {
        all.push_back(keys.segment(fmt::format("s{}", i), 1, kept::board_players));
    }
    for (std::size_t i = 0; i < partitions; ++i) {
        all.push_back(keys.partition(i, kept::board_members));
    }
    std::vector<std::string_view> unlink{"UNLINK"};
    unlink.insert(unlink.end(), all.begin(), all.end());
    const auto gone = on.execute({unlink, repeat::idempotent}, on.time().now() + 30s);
    if (!gone) return std::unexpected(gone.error());
    return {};
}

}  // namespace holdfast::app
