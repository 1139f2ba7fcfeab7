// SPDX-License-Identifier: Apache-2.0
//
// What is left when a writer dies or a server forgets: records that are pending, players that are
// in no segment, players that are in two. The record is right; the segments follow it.
#include "cache/board_scripts.hpp"
#include "cache/cache_scripts.hpp"
#include "cache/segmented_board.hpp"

#include <array>
#include <utility>

namespace holdfast::detail {
namespace {

constexpr int take_at_once = 100;
constexpr duration take_again = std::chrono::seconds(10);

}  // namespace

// Puts the first entry of a record where it belongs, and the others away. False: the record changed
// meanwhile.
result<bool> segmented_board::settle(const board_map& map, std::string_view member,
                                     time_point give_up) {
    const auto record = record_of(map, member, give_up);
    if (!record) return std::unexpected(record.error());
    const auto entries = parse_record(*record);
    std::vector<placing> all;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (!entries[i].counts()) continue;
        all.push_back(
            {i == 0 ? placing::act::add : placing::act::remove, std::string(member), entries[i]});
    }
    if (auto placed = place(std::move(all), give_up); !placed) {
        return std::unexpected(std::move(placed.error()));
    }
    const std::array<std::string, 2> keys{partition_key(map, member, kept::board_members),
                                          partition_key(map, member, kept::board_pending)};
    const std::array<std::string, 2> args{std::string(member), *record};
    const auto clean =
        run_script(where_, board_scripts::all().settle, keys, args, repeat::idempotent, give_up);
    if (!clean) return std::unexpected(clean.error());
    if (clean->number() == 1 || entries.empty() || !entries.front().counts()) {
        return clean->number() == 1;
    }
    // A write came between. If it replaced the entry that we added, it may have removed it before.
    const auto now = record_of(map, member, give_up);
    if (!now) return std::unexpected(now.error());
    const auto after = parse_record(*now);
    if (!after.empty() && after.front().text() == entries.front().text()) return false;
    auto gone = place({{placing::act::remove, std::string(member), entries.front()}}, give_up);
    if (!gone) return std::unexpected(std::move(gone.error()));
    return false;
}

// Writes that began a while ago and did not end.
result<std::size_t> segmented_board::finish_writes(const board_map& map) {
    std::size_t finished = 0;
    for (std::size_t p = 0; p < map.partitions; ++p) {
        const std::string pending = partition_key(p, kept::board_pending);
        const std::array<std::string, 2> args{std::to_string(take_at_once),
                                              std::to_string(to_ms(take_again))};
        const auto due = run_script(where_, cache_scripts::all().pending_take, {&pending, 1}, args,
                                    repeat::idempotent, give_up());
        if (!due) return std::unexpected(due.error());
        for (const auto& member : due->elements()) {
            const auto settled = settle(map, member.text(), give_up());
            if (!settled) return std::unexpected(settled.error());
            if (*settled) ++finished;
        }
    }
    return finished;
}

result<void> segmented_board::walk(std::string_view scan, const std::string& key,
                                   const list_handler& handle) {
    std::string cursor = "0";
    do {
        const auto next = words(scan, key, cursor, "COUNT", take_at_once);
        const auto seen = ask(where_, next.idempotent(), key, give_up());
        if (!seen) return std::unexpected(seen.error());
        if (seen->elements().size() != 2) return {};
        cursor = seen->elements()[0].text();
        if (auto done = handle(seen->elements()[1].elements()); !done) return done;
    } while (cursor != "0");
    return {};
}

// The map with nothing on its way, and all its segments there.
result<segmented_board::map_ptr> segmented_board::whole_map() {
    auto map = read_map(give_up());
    while (map && *map && (*map)->moving) {
        if (auto done = finish_move(**map, give_up()); !done) {
            return std::unexpected(std::move(done.error()));
        }
        map = read_map(give_up());
    }
    if (!map || !*map) return map;
    for (const auto& one : (*map)->segments) {
        const std::string key = segment_key(one.id, one.version, kept::board_players);
        const auto there = ask(where_, words("EXISTS", key).idempotent(), key, give_up());
        if (!there) return std::unexpected(there.error());
        if (there->number() == 1) continue;
        // Lost by a server, or renamed by a move that began just now: then the map is another one.
        auto again = read_map(give_up());
        if (!again) return again;
        if (!*again || **again != **map) return whole_map();
        if (auto made = make_segment(one.id, one.version, give_up()); !made) {
            return std::unexpected(std::move(made.error()));
        }
    }
    return map;
}

// [member, record, …]
result<void> segmented_board::repair_members(const board_map& map, const std::vector<reply>& list,
                                             board_repair& found) {
    for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
        const std::string& member = list[i].text();
        const auto entries = parse_record(list[i + 1].text());
        if (entries.empty()) continue;
        ++found.players;
        if (entries.size() == 1 && entries[0].finished && entries[0].counts()) {
            const auto known = known_map(give_up());
            if (!known) return std::unexpected(known.error());
            if (!*known) return {};
            const auto& one = (*known)->segments[(*known)->segment_of(score_of(entries[0].score))];
            const std::string key = segment_key(one.id, one.version, kept::board_players);
            const std::string entry = entries[0].in_segment(member);
            const auto asked = words("ZSCORE", key, entry);
            const auto seen = ask(where_, asked.idempotent(), key, give_up());
            if (!seen) return std::unexpected(seen.error());
            if (!seen->is_nil()) continue;
            const auto now = record_of(map, member, give_up());
            if (!now) return std::unexpected(now.error());
            if (*now != list[i + 1].text()) continue;  // being written
            ++found.missing;
        }
        if (auto settled = settle(map, member, give_up()); !settled) {
            return std::unexpected(std::move(settled.error()));
        }
    }
    return {};
}

// [stamp:member, score, …]
result<void> segmented_board::repair_entries(const board_map& map, const std::vector<reply>& list,
                                             board_repair& found) {
    command_batch records;
    std::vector<placing> seen;
    for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
        const std::string& text = list[i].text();
        if (text.size() <= stamp_digits) continue;  // our own
        const std::string member(member_of(text));
        records.add({"HGET", partition_key(map, member, kept::board_members), member});
        seen.push_back({placing::act::remove,
                        member,
                        {list[i + 1].text(), text.substr(0, stamp_digits), true}});
    }
    const auto replies = records.run(where_, give_up());
    if (!replies) return std::unexpected(replies.error());
    for (std::size_t i = 0; i < seen.size(); ++i) {
        bool known = false;
        for (const auto& entry : parse_record((*replies)[i].text())) {
            known = known || entry.stamp == seen[i].entry.stamp;
        }
        if (known) continue;
        // A stamp never comes back: once it is in no record, nobody needs the entry.
        ++found.stray;
        if (auto gone = place({std::move(seen[i])}, give_up()); !gone) {
            return std::unexpected(std::move(gone.error()));
        }
    }
    return {};
}

result<board_repair> segmented_board::repair() {
    board_repair found;
    const auto map = whole_map();
    if (!map) return std::unexpected(map.error());
    if (!*map) return found;
    for (std::size_t p = 0; p < (*map)->partitions; ++p) {
        auto done = walk("HSCAN", partition_key(p, kept::board_members),
                         [&](const auto& list) { return repair_members(**map, list, found); });
        if (!done) return std::unexpected(std::move(done.error()));
    }
    const auto known = known_map(give_up());
    if (!known) return std::unexpected(known.error());
    if (!*known) return found;
    for (const auto& one : (*known)->segments) {
        auto done = walk("ZSCAN", segment_key(one.id, one.version, kept::board_players),
                         [&](const auto& list) { return repair_entries(**known, list, found); });
        if (!done) return std::unexpected(std::move(done.error()));
    }
    return found;
}

result<void> segmented_board::drop() {
    const auto map = read_map(give_up());
    if (!map) return std::unexpected(map.error());
    if (!*map) return {};
    command_batch batch;
    batch.add({"UNLINK", map_key()});
    for (const auto& one : (*map)->segments) {
        for (const std::uint64_t version : {one.version, one.version + 1}) {
            for (const auto kind : {kept::board_players, kept::board_scores, kept::board_taken}) {
                batch.add({"UNLINK", segment_key(one.id, version, kind)});
            }
        }
    }
    for (std::size_t p = 0; p < (*map)->partitions; ++p) {
        batch.add({"UNLINK", partition_key(p, kept::board_members)});
        batch.add({"UNLINK", partition_key(p, kept::board_pending)});
    }
    const auto gone = batch.run(where_, give_up());
    if (!gone) return std::unexpected(gone.error());
    remember(nullptr);
    return {};
}

std::shared_ptr<board> make_segmented_board(command_access where, std::string name,
                                            const leaderboard_options& options) {
    return std::make_shared<segmented_board>(std::move(where), std::move(name), options);
}

}  // namespace holdfast::detail
