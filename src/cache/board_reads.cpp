// SPDX-License-Identifier: Apache-2.0
//
// Reading a board of segments: each call asks under the map that this process knows, and again
// under a newer one if a segment was not where that says.
#include "cache/segmented_board.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::detail {
namespace {

std::uint64_t whole_number(const reply& seen) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(seen.number(), 0));
}

// The players of all segments above this one.
std::uint64_t sum_above(const std::vector<std::uint64_t>& counts, std::size_t segment) {
    std::uint64_t sum = 0;
    for (std::size_t i = segment + 1; i < counts.size(); ++i) sum += counts[i];
    return sum;
}

}  // namespace

result<std::uint64_t> segmented_board::size() {
    const time_point until = give_up();
    auto map = known_map(until);
    for (int attempt = 0;; ++attempt) {
        if (!map) return std::unexpected(std::move(map.error()));
        if (!*map) return 0;
        const auto sizes = sizes_of(**map, until);
        if (!sizes) return std::unexpected(sizes.error());
        if (*sizes) return (*sizes)->total;
        map = newer_map(*map, attempt, until);
    }
}

result<std::optional<standing>> segmented_board::rank(std::string_view member) {
    const time_point until = give_up();
    auto map = known_map(until);
    for (int attempt = 0;; ++attempt) {
        if (!map) return std::unexpected(std::move(map.error()));
        if (!*map) return std::nullopt;
        const auto record = record_of(**map, member, until);
        if (!record) return std::unexpected(record.error());
        const auto entries = parse_record(*record);
        if (entries.empty() || !entries.front().counts()) return std::nullopt;
        standing found;
        const auto seen = rank_under(**map, member, entries.front(), found, until);
        if (!seen) return std::unexpected(seen.error());
        if (*seen == look::found) return found;
        if (*seen == look::old_map) {
            map = newer_map(*map, attempt, until);
        } else if (attempt > 0) {
            // Its writer is slow, or dead: finish the write, and look again.
            if (auto done = settle(**map, member, until); !done) {
                return std::unexpected(std::move(done.error()));
            }
        }
    }
}

result<segmented_board::look> segmented_board::rank_under(const board_map& map,
                                                          std::string_view member,
                                                          const board_entry& entry, standing& found,
                                                          time_point give_up) {
    const std::size_t at = map.segment_of(score_of(entry.score));
    const auto& segment = map.segments[at];
    const bool dense = options_.dense_ranks;
    command_batch batch;
    for (const auto& one : map.segments) {
        batch.add({"ZCARD", segment_key(one.id, one.version, kept::board_players)});
    }
    const std::string players = segment_key(segment.id, segment.version, kept::board_players);
    batch.add({"ZREVRANK", players, entry.in_segment(member)});
    batch.add({"ZCOUNT", players, "(" + entry.score, "+inf"});
    if (dense) {
        const std::string scores = segment_key(segment.id, segment.version, kept::board_scores);
        batch.add({"ZCOUNT", scores, "(" + entry.score, "+inf"});
        for (std::size_t i = at + 1; i < map.segments.size(); ++i) {
            const auto& one = map.segments[i];
            batch.add({"ZCARD", segment_key(one.id, one.version, kept::board_scores)});
        }
    }
    const auto seen = batch.run(where_, give_up);
    if (!seen) return std::unexpected(seen.error());
    const std::size_t segments = map.segments.size();
    std::vector<std::uint64_t> sizes;
    for (std::size_t i = 0; i < segments; ++i) {
        const auto held = whole_number((*seen)[i]);
        if (held == 0) return look::old_map;
        sizes.push_back(held - 1);
        found.players += held - 1;
    }
    if ((*seen)[segments].is_nil()) return look::not_placed;
    const std::uint64_t above = sum_above(sizes, at);
    found.member = member;
    found.score = score_of(entry.score);
    found.ordinal = above + whole_number((*seen)[segments]) + 1;
    found.competition = above + whole_number((*seen)[segments + 1]) + 1;
    if (!dense) return look::found;
    found.dense = whole_number((*seen)[segments + 2]) + 1;
    for (std::size_t i = segments + 3; i < seen->size(); ++i) {
        found.dense += std::max<std::uint64_t>(whole_number((*seen)[i]), 1) - 1;
    }
    return look::found;
}

result<std::vector<board_row>> segmented_board::page(std::uint64_t skip, std::size_t n) {
    const time_point until = give_up();
    auto map = known_map(until);
    for (int attempt = 0;; ++attempt) {
        if (!map) return std::unexpected(std::move(map.error()));
        if (!*map) return std::vector<board_row>{};
        auto rows = page_under(**map, skip, n, until);
        if (!rows) return std::unexpected(std::move(rows.error()));
        if (*rows) return *std::move(*rows);
        map = newer_map(*map, attempt, until);
    }
}

// Nothing: a segment is not where the map says.
result<std::optional<std::vector<board_row>>> segmented_board::page_under(const board_map& map,
                                                                          std::uint64_t skip,
                                                                          std::size_t n,
                                                                          time_point give_up) {
    const auto sizes = sizes_of(map, give_up);
    if (!sizes) return std::unexpected(sizes.error());
    if (!*sizes) return std::nullopt;
    command_batch batch;
    std::uint64_t above = 0;
    std::optional<std::size_t> first;
    for (std::size_t i = map.segments.size(); i-- > 0 && above < skip + n;) {
        const std::uint64_t held = (*sizes)->players[i];
        if (above + held > skip) {
            const std::uint64_t from = skip > above ? skip - above : 0;
            const std::uint64_t to = std::min(held, skip + n - above) - 1;
            const auto& one = map.segments[i];
            const std::string key = segment_key(one.id, one.version, kept::board_players);
            batch.add({"EXISTS", key});
            batch.add({"ZREVRANGE", key, std::to_string(from), std::to_string(to), "WITHSCORES"});
            if (!first) first = i;
        }
        above += held;
    }
    std::vector<board_row> rows;
    if (!first) return rows;
    const auto seen = batch.run(where_, give_up);
    if (!seen) return std::unexpected(seen.error());
    rows_above over{.players = skip, .better = skip};
    const auto& list = (*seen)[1].elements();
    if (skip > 0 && list.size() > 1) {
        const auto& one = map.segments[*first];
        command_batch ties;
        for (const auto kind : {kept::board_players, kept::board_scores}) {
            ties.add(
                {"ZCOUNT", segment_key(one.id, one.version, kind), "(" + list[1].text(), "+inf"});
        }
        const auto tied = ties.run(where_, give_up);
        if (!tied) return std::unexpected(tied.error());
        over.better = sum_above((*sizes)->players, *first) + whole_number((*tied)[0]);
        over.dense = sum_above((*sizes)->scores, *first) + whole_number((*tied)[1]);
    }
    for (std::size_t i = 0; i < seen->size(); i += 2) {
        if ((*seen)[i].number() == 0) return std::nullopt;
        // Our own entry is below all players: it shows when some left meanwhile.
        std::span<const reply> part((*seen)[i + 1].elements());
        if (part.size() > 1 && part[part.size() - 2].text().size() < stamp_digits) {
            part = part.first(part.size() - 2);
        }
        add_rows(rows, part, over, options_.dense_ranks);
    }
    return rows;
}

result<std::vector<board_row>> segmented_board::around(std::string_view member, std::size_t n) {
    const auto found = rank(member);
    if (!found) return std::unexpected(found.error());
    if (!*found) return std::vector<board_row>{};
    const std::uint64_t at = (*found)->ordinal - 1;
    const std::uint64_t from = at > n ? at - n : 0;
    return page(from, static_cast<std::size_t>(at + n + 1 - from));
}

}  // namespace holdfast::detail
