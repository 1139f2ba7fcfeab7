// SPDX-License-Identifier: Apache-2.0
#include "cache/segmented_board.hpp"

#include "cache/board_scripts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace holdfast::detail {
namespace {

// A write whose process died is finished by others after this.
constexpr duration finish_after = std::chrono::seconds(10);
// As many may write one player at a time.
constexpr int most_loose = 32;
// What keeps a segment from being empty: an entry below all players.
constexpr std::string_view floor_entry = "-";
constexpr int same_map_attempts = 4;

std::uint64_t count_of(const reply& seen) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(seen.number(), 0));
}

}  // namespace

void command_batch::add(std::vector<std::string> command) {
    commands_.push_back({std::move(command), nullptr});
}

void command_batch::add(const script& body, std::span<const std::string> keys,
                        std::span<const std::string> args) {
    std::vector<std::string> texts{"EVALSHA", body.sha1(), std::to_string(keys.size())};
    texts.insert(texts.end(), keys.begin(), keys.end());
    texts.insert(texts.end(), args.begin(), args.end());
    commands_.push_back({std::move(texts), &body});
}

result<std::vector<reply>> command_batch::run(const command_access& where, time_point give_up,
                                              repeat again) {
    std::vector<std::vector<std::string_view>> views;
    for (const auto& c : commands_) views.emplace_back(c.texts.begin(), c.texts.end());
    std::vector<command> commands;
    for (std::size_t i = 0; i < views.size(); ++i) {
        commands.push_back({views[i], again, commands_[i].body});
    }
    std::vector<result<reply>> replies(commands.size());
    if (!commands.empty()) where.engine()->exchange(commands, replies, give_up);
    std::vector<reply> answers;
    for (std::size_t i = 0; i < replies.size(); ++i) {
        const auto& texts = commands_[i].texts;
        const std::string& key = texts[commands_[i].body != nullptr ? 3 : 1];
        auto answer = answer_of(std::move(replies[i]), key);
        if (!answer) return std::unexpected(std::move(answer.error()));
        answers.push_back(std::move(*answer));
    }
    return answers;
}

std::string board_entry::text() const {
    return fmt::format("{}:{}", score, stamp);
}

std::string board_entry::recorded() const {
    return fmt::format("{}:{}{}", score, stamp, finished ? "" : "*");
}

std::string board_entry::in_segment(std::string_view member) const {
    return fmt::format("{}:{}", stamp, member);
}

std::optional<board_entry> board_entry::parse(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return {};
    const bool finished = !text.ends_with('*');
    if (!finished) text.remove_suffix(1);
    return board_entry{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1)),
                       finished};
}

std::vector<board_entry> parse_record(std::string_view text) {
    std::vector<board_entry> entries;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (auto entry = board_entry::parse(text.substr(0, end))) {
            entries.push_back(std::move(*entry));
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return entries;
}

segmented_board::segmented_board(command_access where, std::string name,
                                 const leaderboard_options& options)
    : where_(std::move(where)),
      name_(name),
      options_(options),
      keys_{options.prefix, std::move(name)} {}

time_point segmented_board::give_up() const {
    return later(where_.engine()->time().now(), options_.timeout);
}

std::string segmented_board::map_key() const {
    return keys_.map();
}

std::string segmented_board::segment_key(std::string_view id, std::uint64_t version,
                                         std::string_view kind) const {
    return keys_.segment(id, version, kind);
}

std::string segmented_board::partition_key(std::size_t partition, std::string_view kind) const {
    return keys_.partition(partition, kind);
}

std::string segmented_board::partition_key(const board_map& map, std::string_view member,
                                           std::string_view kind) const {
    return partition_key(board_partition(member, map.partitions), kind);
}

void segmented_board::remember(map_ptr map) {
    const std::scoped_lock guard(mutex_);
    if (map_ && map && map_->version > map->version &&
        map_->segments.front() == map->segments.front())
        return;
    map_ = std::move(map);
}

result<segmented_board::map_ptr> segmented_board::known_map(time_point give_up) {
    {
        const std::scoped_lock guard(mutex_);
        if (map_) return map_;
    }
    return read_map(give_up);
}

// Null: there is no such board.
result<segmented_board::map_ptr> segmented_board::read_map(time_point give_up) {
    const std::string key = map_key();
    auto seen = ask(where_, words("GET", key).idempotent(), key, give_up);
    if (!seen) return std::unexpected(std::move(seen.error()));
    if (seen->is_nil()) {
        remember(nullptr);
        return nullptr;
    }
    auto map = board_map::parse(seen->text());
    if (!map) return fail(errc::corrupt, fmt::format("'{}' holds something else: no map", key));
    auto shared = std::make_shared<const board_map>(std::move(*map));
    remember(shared);
    return shared;
}

result<void> segmented_board::make_segment(std::string_view id, std::uint64_t version,
                                           time_point give_up) {
    command_batch make;
    make.add(
        {"ZADD", segment_key(id, version, kept::board_players), "-inf", std::string(floor_entry)});
    make.add({"PEXPIRE", segment_key(id, version, kept::board_players), life_word()});
    if (options_.dense_ranks) {
        make.add({"ZADD", segment_key(id, version, kept::board_scores), "-inf",
                  std::string(floor_entry)});
        make.add({"PEXPIRE", segment_key(id, version, kept::board_scores), life_word()});
    }
    // Not again: a late one would bring a key back that was renamed since.
    const auto made = make.run(where_, give_up, repeat::never);
    if (!made) return std::unexpected(made.error());
    return {};
}

// A segment's id is never used again, so a segment that lost the race to be the first is only left
// to expire.
result<segmented_board::map_ptr> segmented_board::make_map(time_point give_up) {
    board_map first{.version = 1, .partitions = options_.partitions, .moving = {}, .segments = {}};
    first.segments.push_back({draw_token(where_.chance()), 1, -HUGE_VAL});
    if (auto made = make_segment(first.segments[0].id, 1, give_up); !made) {
        return std::unexpected(std::move(made.error()));
    }
    const auto won = replace_map(nullptr, first, give_up);
    if (!won) return std::unexpected(won.error());
    if (!*won) {
        command_batch clean;
        clean.add({"DEL", segment_key(first.segments[0].id, 1, kept::board_players)});
        clean.add({"DEL", segment_key(first.segments[0].id, 1, kept::board_scores)});
        static_cast<void>(clean.run(where_, give_up));
    }
    return read_map(give_up);
}

result<bool> segmented_board::replace_map(const board_map* old, const board_map& next,
                                          time_point give_up) {
    const std::string key = map_key();
    const std::array<std::string, 3> args{old == nullptr ? "" : old->text(), next.text(),
                                          life_word()};
    const auto done =
        run_script(where_, board_scripts::all().map, {&key, 1}, args, repeat::idempotent, give_up);
    if (!done) return std::unexpected(done.error());
    return done->number() == 1;
}

// After a segment was not where `old` says. Finishes a move that is under way.
result<segmented_board::map_ptr> segmented_board::newer_map(const map_ptr& old, int attempt,
                                                            time_point give_up) {
    auto map = read_map(give_up);
    if (!map || !*map) return map;
    if ((*map)->moving) {
        if (auto done = finish_move(**map, give_up); !done) {
            return std::unexpected(std::move(done.error()));
        }
        return read_map(give_up);
    }
    if (**map == *old && attempt >= same_map_attempts) {
        return fail(errc::corrupt,
                    fmt::format("board '{}': a segment is gone; repair() makes it again", name_));
    }
    return map;
}

result<std::uint64_t> segmented_board::place(std::vector<placing> all, time_point give_up) {
    std::uint64_t largest = 0;
    auto map = known_map(give_up);
    for (int attempt = 0; !all.empty(); ++attempt) {
        if (map && !*map) map = make_map(give_up);
        if (!map) return std::unexpected(std::move(map.error()));
        command_batch batch;
        for (const auto& one : all) {
            const auto& segment = (*map)->segments[(*map)->segment_of(score_of(one.entry.score))];
            const std::array<std::string, 2> keys{
                segment_key(segment.id, segment.version, kept::board_players),
                segment_key(segment.id, segment.version, kept::board_scores)};
            const std::array<std::string, 5> args{one.what == placing::act::add ? "add" : "remove",
                                                  dense_word(), life_word(), one.entry.score,
                                                  one.entry.in_segment(one.member)};
            batch.add(board_scripts::all().place, keys, args);
        }
        const auto replies = batch.run(where_, give_up);
        if (!replies) return std::unexpected(replies.error());
        std::vector<placing> left;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::int64_t held = (*replies)[i].number();
            if (held < 0) left.push_back(std::move(all[i]));
            largest = std::max(largest, count_of((*replies)[i]));
        }
        all = std::move(left);
        if (!all.empty()) map = newer_map(*map, attempt, give_up);
    }
    return largest;
}

result<board_change> segmented_board::write(board_write how, std::string_view member,
                                            double score) {
    const time_point until = give_up();
    auto map = known_map(until);
    if (map && !*map) map = make_map(until);
    if (!map) return std::unexpected(std::move(map.error()));
    const std::array<std::string, 2> keys{partition_key(**map, member, kept::board_members),
                                          partition_key(**map, member, kept::board_pending)};
    const std::array<std::string, 6> args{
        std::string(member), std::string(to_word(how)),           score_text(score),
        life_word(),         std::to_string(to_ms(finish_after)), std::to_string(most_loose)};
    const auto begun =
        run_script(where_, board_scripts::all().begin, keys, args, repeat::never, until);
    if (!begun) return std::unexpected(begun.error());
    const auto& list = begun->elements();
    switch (list.at(0).number()) {
        case 0: return board_change{score_of(list.at(1).text()), false};
        case -1: return fail(errc::busy, fmt::format("too many write '{}' at once", member));
        case -2: return fail(errc::invalid_argument, "the sum is no finite number");
        default: break;
    }
    const auto made = board_entry::parse(list.at(1).text());
    if (!made) return fail(errc::corrupt, fmt::format("'{}' holds something else", keys[0]));
    std::vector<board_entry> old;
    std::vector<placing> all;
    if (made->counts()) all.push_back({placing::act::add, std::string(member), *made});
    for (std::size_t i = 2; i < list.size(); ++i) {
        auto entry = board_entry::parse(list[i].text());
        if (!entry) continue;
        all.push_back({placing::act::remove, std::string(member), *entry});
        old.push_back(std::move(*entry));
    }
    const auto largest = place(std::move(all), until);
    if (!largest) return std::unexpected(largest.error());
    if (auto ended = end_write(member, *made, old, until); !ended) {
        return std::unexpected(std::move(ended.error()));
    }
    // Splitting is work for all; its failure is not this write's.
    if (*largest > options_.split_at + 1) split_near(score_of(made->score), until);
    return board_change{made->counts() ? score_of(made->score) : 0, true};
}

// What is too large where a score is.
void segmented_board::split_near(double score, time_point give_up) {
    const auto map = known_map(give_up);
    if (!map || !*map) return;
    const std::size_t at = (*map)->segment_of(score);
    const auto sizes = sizes_of(**map, give_up);
    if (!sizes || !*sizes || (*sizes)->players[at] <= options_.split_at) return;
    static_cast<void>(shift_up(**map, at, **sizes));
}

// An old entry whose writer has ended cannot come back: it is gone for good. The others are
// forgotten by their own writers, or when the record is settled.
result<void> segmented_board::end_write(std::string_view member, const board_entry& made,
                                        const std::vector<board_entry>& old, time_point give_up) {
    const auto map = known_map(give_up);
    if (!map) return std::unexpected(map.error());
    if (!*map) return {};
    const std::array<std::string, 2> keys{partition_key(**map, member, kept::board_members),
                                          partition_key(**map, member, kept::board_pending)};
    std::vector<std::string> args{std::string(member), made.text()};
    for (const auto& entry : old) {
        if (entry.finished) args.push_back(entry.recorded());
    }
    const auto& script = board_scripts::all().end;
    const auto ended = run_script(where_, script, keys, args, repeat::idempotent, give_up);
    if (!ended) return std::unexpected(ended.error());
    if (ended->number() == 1 || !made.counts()) return {};
    // A later write may have removed our entry before we added it.
    auto gone = place({{placing::act::remove, std::string(member), made}}, give_up);
    if (!gone) return std::unexpected(std::move(gone.error()));
    const std::vector<std::string> again{std::string(member), made.text(), made.text() + "*"};
    const auto done = run_script(where_, script, keys, again, repeat::idempotent, give_up);
    if (!done) return std::unexpected(done.error());
    return {};
}

// Nothing: a segment is not where the map says.
result<std::optional<segmented_board::segment_sizes>> segmented_board::sizes_of(
    const board_map& map, time_point give_up) {
    command_batch batch;
    for (const auto& one : map.segments) {
        batch.add({"ZCARD", segment_key(one.id, one.version, kept::board_players)});
    }
    if (options_.dense_ranks) {
        for (const auto& one : map.segments) {
            batch.add({"ZCARD", segment_key(one.id, one.version, kept::board_scores)});
        }
    }
    const auto seen = batch.run(where_, give_up);
    if (!seen) return std::unexpected(seen.error());
    segment_sizes sizes;
    for (std::size_t i = 0; i < seen->size(); ++i) {
        const auto held = count_of((*seen)[i]);
        if (i < map.segments.size()) {
            if (held == 0) return std::nullopt;
            sizes.players.push_back(held - 1);
            sizes.total += held - 1;
        } else {
            sizes.scores.push_back(held == 0 ? 0 : held - 1);
        }
    }
    return sizes;
}

result<std::string> segmented_board::record_of(const board_map& map, std::string_view member,
                                               time_point give_up) {
    const std::string key = partition_key(map, member, kept::board_members);
    auto seen = ask(where_, words("HGET", key, member).idempotent(), key, give_up);
    if (!seen) return std::unexpected(std::move(seen.error()));
    return std::move(*seen).text();
}

}  // namespace holdfast::detail
