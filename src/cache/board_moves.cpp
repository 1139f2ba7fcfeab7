// SPDX-License-Identifier: Apache-2.0
//
// Moves of players between neighbouring segments, while the board is in use.
//
// A move is a few hundred players, so nothing is held up for long: the map says what moves; the
// players are taken out of the one segment and put into the other; the map says that it is over.
// A segment that is too large gives its best to the one above, if that has room, else to a new one.
#include "cache/board_scripts.hpp"
#include "cache/segmented_board.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace holdfast::detail {
namespace {

// As many players move at a time, at most: a script that moves them takes about a millisecond. Of
// players with one score, which stay together, up to so many.
constexpr std::size_t most_moved = 500;
constexpr std::int64_t most_tied = 5000;
// tend() leaves the rest to the next call.
constexpr int most_moves = 100'000;

}  // namespace

// Each step may be repeated, also by several at the same time and late: a step finds a segment
// under the version that the move begins with, or does nothing.
result<void> segmented_board::finish_move(const board_map& map, time_point give_up) {
    const auto next = map.moved();
    if (!next) return fail(errc::corrupt, "the board's map holds a move that cannot be");
    const board_shift& move = *map.moving;
    const board_segment& from = *map.find(move.from);
    const board_segment* there = map.find(move.to);
    const board_segment to = there != nullptr ? *there : board_segment{.id = move.to};
    const std::string taken = segment_key(from.id, from.version + 1, kept::board_taken);
    const std::array<std::string, 5> out{
        segment_key(from.id, from.version, kept::board_players),
        segment_key(from.id, from.version + 1, kept::board_players),
        segment_key(from.id, from.version, kept::board_scores),
        segment_key(from.id, from.version + 1, kept::board_scores), taken};
    const std::array<std::string, 2> how{move.cut ? score_text(*move.cut) : "", life_word()};
    const auto& scripts = board_scripts::all();
    const auto players = run_script(where_, scripts.take, out, how, repeat::idempotent, give_up);
    if (!players) return std::unexpected(players.error());
    const std::array<std::string, 4> in{segment_key(to.id, to.version, kept::board_players),
                                        segment_key(to.id, to.version + 1, kept::board_players),
                                        segment_key(to.id, to.version, kept::board_scores),
                                        segment_key(to.id, to.version + 1, kept::board_scores)};
    std::vector<std::string> args{dense_word(), life_word()};
    for (const auto& one : players->elements()) args.push_back(one.text());
    const auto given = run_script(where_, scripts.give, in, args, repeat::idempotent, give_up);
    if (!given) return std::unexpected(given.error());
    const auto over = replace_map(&map, *next, give_up);
    if (!over) return std::unexpected(over.error());
    if (*over) remember(std::make_shared<const board_map>(*next));
    const auto clean = ask(where_, words("UNLINK", taken).idempotent(), taken, give_up);
    if (!clean) return std::unexpected(clean.error());
    return {};
}

// False: somebody else changed the map.
result<bool> segmented_board::begin_move(const board_map& map, board_map next) {
    const time_point until = give_up();
    ++next.version;
    const auto begun = replace_map(&map, next, until);
    if (!begun) return std::unexpected(begun.error());
    if (!*begun) {
        const auto other = read_map(until);
        if (!other) return std::unexpected(other.error());
        return false;
    }
    if (auto done = finish_move(next, until); !done) {
        return std::unexpected(std::move(done.error()));
    }
    return true;
}

// The least score of the best few hundred. Players with one score stay together. Nothing: too many
// have the same.
result<std::optional<double>> segmented_board::choose_cut(const board_segment& from,
                                                          time_point give_up) {
    const std::string key = segment_key(from.id, from.version, kept::board_players);
    const std::size_t at = std::min(most_moved, options_.split_at / 4) - 1;
    const auto last = words("ZREVRANGE", key, at, at, "WITHSCORES");
    auto seen = ask(where_, last.idempotent(), key, give_up);
    if (!seen) return std::unexpected(std::move(seen.error()));
    if (seen->elements().size() < 2) return std::nullopt;
    const std::string text = seen->elements()[1].text();
    command_batch batch;
    batch.add({"ZCOUNT", key, text, "+inf"});
    batch.add({"ZRANGEBYSCORE", key, "(" + text, "+inf", "WITHSCORES", "LIMIT", "0", "1"});
    const auto ties = batch.run(where_, give_up);
    if (!ties) return std::unexpected(ties.error());
    double cut = score_of(text);
    if ((*ties)[0].number() > most_tied) {
        const auto& above = (*ties)[1].elements();
        if (above.size() < 2) return std::nullopt;
        cut = score_of(above[1].text());
    }
    if (cut > from.low) return cut;
    const auto& above = (*ties)[1].elements();
    if (above.size() < 2) return std::nullopt;
    return score_of(above[1].text());
}

// Moves the best of a segment up, once. False: there was nothing to do.
result<bool> segmented_board::shift_up(const board_map& map, std::size_t segment,
                                       const segment_sizes& sizes) {
    if (map.moving) return false;
    const time_point until = give_up();
    const board_segment& from = map.segments[segment];
    const std::string key = segment_key(from.id, from.version, kept::board_players);
    {
        const std::scoped_lock guard(mutex_);
        if (unsplittable_ == key) return false;
    }
    const auto cut = choose_cut(from, until);
    if (!cut) return std::unexpected(cut.error());
    if (!*cut) {
        const std::scoped_lock guard(mutex_);
        unsplittable_ = key;
        return false;
    }
    const bool room =
        segment + 1 < map.segments.size() && sizes.players[segment + 1] < options_.split_at / 2;
    std::string to = room ? map.segments[segment + 1].id : draw_token(where_.chance());
    if (!room) {
        if (map.segments.size() >= most_segments) return false;
        if (auto made = make_segment(to, first_version, until); !made) {
            return std::unexpected(std::move(made.error()));
        }
    }
    board_map next = map;
    next.moving = board_shift{from.id, std::move(to), **cut};
    return begin_move(map, std::move(next));
}

result<bool> segmented_board::split_one(const board_map& map, const segment_sizes& sizes) {
    for (std::size_t i = 0; i < map.segments.size(); ++i) {
        if (sizes.players[i] <= options_.split_at) continue;
        auto moved = shift_up(map, i, sizes);
        if (!moved || *moved) return moved;
    }
    return false;
}

result<bool> segmented_board::merge_one(const board_map& map, const segment_sizes& sizes) {
    for (std::size_t i = 1; i < map.segments.size(); ++i) {
        const std::uint64_t upper = sizes.players[i];
        if (upper > 4 * most_moved || upper + sizes.players[i - 1] >= options_.split_at / 2)
            continue;
        board_map next = map;
        next.moving = board_shift{map.segments[i].id, map.segments[i - 1].id, std::nullopt};
        return begin_move(map, std::move(next));
    }
    return false;
}

result<void> segmented_board::prolong(const board_map& map) {
    command_batch batch;
    batch.add({"PEXPIRE", map_key(), life_word()});
    for (const auto& one : map.segments) {
        for (const auto kind : {kept::board_players, kept::board_scores}) {
            batch.add({"PEXPIRE", segment_key(one.id, one.version, kind), life_word()});
        }
    }
    for (std::size_t i = 0; i < map.partitions; ++i) {
        batch.add({"PEXPIRE", partition_key(i, kept::board_members), life_word()});
    }
    const auto done = batch.run(where_, give_up());
    if (!done) return std::unexpected(done.error());
    return {};
}

result<board_upkeep> segmented_board::tend() {
    board_upkeep done;
    {
        const std::scoped_lock guard(mutex_);
        unsplittable_.clear();
    }
    for (int round = 0; round < most_moves; ++round) {
        const auto map = read_map(give_up());
        if (!map) return std::unexpected(map.error());
        if (!*map) return done;
        done.segments = (*map)->segments.size();
        if (round == 0) {
            const auto finished = finish_writes(**map);
            if (!finished) return std::unexpected(finished.error());
            done.finished = *finished;
            if (auto kept = prolong(**map); !kept) return std::unexpected(std::move(kept.error()));
        }
        if ((*map)->moving) {
            auto moved = finish_move(**map, give_up());
            if (!moved) return std::unexpected(std::move(moved.error()));
            ++done.shifts;
            continue;
        }
        const auto sizes = sizes_of(**map, give_up());
        if (!sizes) return std::unexpected(sizes.error());
        if (!*sizes) {
            auto newer = newer_map(*map, round, give_up());
            if (!newer) return std::unexpected(std::move(newer.error()));
            continue;
        }
        auto moved = split_one(**map, **sizes);
        if (!moved) return std::unexpected(std::move(moved.error()));
        if (*moved) {
            ++done.shifts;
            continue;
        }
        moved = merge_one(**map, **sizes);
        if (!moved) return std::unexpected(std::move(moved.error()));
        if (*moved) {
            ++done.merges;
            continue;
        }
        // A move that somebody else began changes the map: look again.
        const auto known = known_map(give_up());
        if (known && *known && **known == **map) return done;
    }
    return done;
}

}  // namespace holdfast::detail
