// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/lease_listing.hpp"

#include "lease/commands/client_label.hpp"
#include "lease/commands/cluster_shards.hpp"
#include "lease/commands/script_constants.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace holdfast {
namespace {

// How much longer a marked lock stays than its lease runs.
constexpr std::chrono::milliseconds slack{constant::slack_ms};

// The prefix as a pattern that matches it to the letter.
std::string glob_of(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '*' || c == '?' || c == '[' || c == ']' || c == '\\' || c == '^') out += '\\';
        out += c;
    }
    return out + "*";
}

constexpr std::size_t owner_digits = 32;
constexpr std::size_t client_digits = 12;  // the first of an owner's

// Holders beside each other that are told.
constexpr int most_shares = 200;

/// A lock's value, as holders.lua describes it. Another program's has no client of ours.
struct lock_value {
    std::string_view client = {};
    bool marked = false;
    bool free = false;     ///< Kept for those in the queue.
    bool several = false;  ///< Its holders stand beside it.
    lease_mode mode = {};
    fencing_token fence = {};
    std::optional<wall_time> since = {};
};

// Takes a number from the front of the text.
std::uint64_t take_number(std::string_view& text) {
    std::uint64_t number = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

// "s3:", "p7/10:" or "x1/1 " from the front; nothing stands for an exclusive one.
lease_mode take_mode(std::string_view& text) {
    lease_mode mode;
    if (text.starts_with('s')) mode.type = lease_mode::kind::shared;
    if (text.starts_with('p')) mode.type = lease_mode::kind::permit;
    if (mode.type == lease_mode::kind::exclusive) return mode;
    text.remove_prefix(1);
    const auto held = static_cast<std::uint32_t>(take_number(text));
    if (mode.type == lease_mode::kind::permit && text.starts_with('/')) {
        text.remove_prefix(1);
        mode.permits = held;
        mode.limit = static_cast<std::uint32_t>(take_number(text));
    }
    if (text.starts_with(':')) text.remove_prefix(1);
    return mode;
}

// `digits` is how much of the owner is there.
lock_value parse_value(std::string_view text, std::size_t digits) {
    if (text == ":hf:+") return {.marked = true, .free = true};
    lock_value value{.marked = text.ends_with('+')};
    if (value.marked) text.remove_suffix(1);
    const std::size_t mark = text.find(our_mark);
    const std::string_view owner = text.substr(0, mark);
    if (mark == std::string_view::npos || (mark != 0 && mark != digits) ||
        owner.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
        return {};
    }
    std::string_view rest = text.substr(mark + our_mark.size());
    value.mode = take_mode(rest);
    value.several = mark == 0;
    if (value.several) return value.mode.type == lease_mode::kind::exclusive ? lock_value{} : value;
    value.client = owner.substr(0, client_digits);
    value.fence.value = take_number(rest);
    if (rest.starts_with('@')) {
        rest.remove_prefix(1);
        value.since = wall_time(std::chrono::milliseconds(take_number(rest)));
    }
    return value;
}

/// Asks commands of one server: any one, or in a Cluster a master.
using asker = std::function<result<reply>(const command&)>;

result<void> scan(const asker& ask, const std::string& pattern, std::vector<std::string>& keys) {
    std::string cursor = "0";
    do {
        const auto part = ask(
            words("SCAN", cursor, "MATCH", pattern, "COUNT", 1000, "TYPE", "string").idempotent());
        if (!part) return std::unexpected(part.error());
        if (part->elements().size() != 2) return fail(errc::corrupt, "SCAN: " + to_string(*part));
        cursor = part->elements()[0].text();
        for (const reply& key : part->elements()[1].elements()) {
            const std::string& found = key.text();
            if (!is_shared_key(found) && !is_side_key(found)) keys.push_back(found);
        }
    } while (cursor != "0");
    return {};
}

// A key in a slot of each master, by which the engine finds it.
result<std::vector<std::string>> masters(command_engine& engine, time_point give_up) {
    const auto shards = read_shards(engine, give_up);
    if (!shards) return std::unexpected(shards.error());
    std::map<std::string, std::string> keys;
    for (const slot_range& range : *shards) keys.emplace(range.master, slot_tag(range.first));
    std::vector<std::string> found;
    for (auto& [master, key] : keys) found.push_back(std::move(key));
    return found;
}

result<std::vector<std::string>> find_keys(command_engine& engine, key_scope scope,
                                           const std::string& pattern, time_point give_up) {
    std::vector<std::string> keys;
    if (scope == key_scope::server) {
        const asker ask = [&](const command& c) { return engine.execute(c, give_up); };
        if (const auto done = scan(ask, pattern, keys); !done) return std::unexpected(done.error());
    } else {
        const auto nodes = masters(engine, give_up);
        if (!nodes) return std::unexpected(nodes.error());
        for (const std::string& node : *nodes) {
            const auto line = engine.open_session(node, give_up);
            if (!line) return std::unexpected(line.error());
            const asker ask = [&](const command& c) { return (*line)->execute(c, give_up); };
            if (const auto done = scan(ask, pattern, keys); !done) {
                return std::unexpected(done.error());
            }
        }
    }
    std::ranges::sort(keys);
    const auto [first, last] = std::ranges::unique(keys);
    keys.erase(first, last);
    return keys;
}

/// One name, and what is still to be asked about it.
struct found_lease {
    lease_info info;
    /// The key of those who hold it beside each other; empty: there is one.
    std::string holders{};
    /// What the keys of their notes begin with, or the key of the one holder's.
    std::string note{};
};

// What a lock's value and its PTTL say; nothing if it is free (by now).
std::optional<found_lease> describe(const lock_name& name, const lock_value& value, std::int64_t ms,
                                    std::string_view lock) {
    if (value.free || ms == -2) return std::nullopt;
    found_lease found;
    lease_info& info = found.info;
    info.name = name.value();
    info.mode = value.mode;
    info.fence = value.fence;
    if (ms >= 0) {
        const auto left = std::chrono::milliseconds(ms) -
                          (value.marked ? slack : std::chrono::milliseconds::zero());
        if (value.marked && left <= duration::zero()) return std::nullopt;
        info.remaining = left;
    }
    if (value.several) {
        detail::text_arena room;
        found.holders = holders_key(room, lock);
        found.note = notes_key(room, lock);
        return found;
    }
    holder_info& who = info.holders.emplace_back();
    who.client = value.client;
    who.since = value.since;
    who.fence = value.fence;
    who.remaining = info.remaining;
    who.permits = value.mode.permits;
    return found;
}

// As shares.lua tells them.
void add_holders(lease_info& info, const reply& told) {
    const auto& parts = told.elements();
    if (info.mode.type == lease_mode::kind::permit && !parts.empty()) {
        info.mode.permits = static_cast<std::uint32_t>(parts[0].number());
    }
    for (std::size_t i = 1; i + 6 <= parts.size(); i += 6) {
        const auto number = [&](std::size_t at) { return parts[i + at].number(); };
        holder_info& who = info.holders.emplace_back();
        who.client = parts[i].text();
        who.remaining = std::chrono::milliseconds(number(1));
        who.permits = static_cast<std::uint32_t>(number(2));
        who.fence = {static_cast<std::uint64_t>(number(3))};
        if (number(4) > 0) who.since = wall_time(std::chrono::milliseconds(number(4)));
        who.note = parts[i + 5].text();
    }
    std::ranges::sort(info.holders, {}, &holder_info::fence);
    if (!info.holders.empty()) info.fence = info.holders.back().fence;
}

const script& shares_script() {
    static const script body{
#include "scripts/shares.inc"
    };
    return body;
}

// Adds those who hold a name beside each other. Whose time is over are not told: a name may be left
// without any.
result<void> ask_holders(command_engine& engine, std::span<found_lease> found, time_point give_up) {
    const std::string most = std::to_string(most_shares);
    std::vector<std::array<std::string_view, 6>> texts;
    for (const found_lease& one : found) {
        if (one.holders.empty()) continue;
        texts.push_back({"EVALSHA", shares_script().sha1(), "2", one.holders, one.note, most});
    }
    std::vector<command> commands;
    for (const auto& text : texts) commands.push_back({text, repeat::idempotent, &shares_script()});
    std::vector<result<reply>> seen(commands.size());
    if (!commands.empty()) engine.exchange(commands, seen, give_up);
    auto next = seen.begin();
    for (found_lease& one : found) {
        if (one.holders.empty()) continue;
        const auto& told = *next++;
        if (!told) return std::unexpected(told.error());
        if (told->is_error()) return std::unexpected(to_error(*told));
        add_holders(one.info, *told);
    }
    return {};
}

// Adds what those say of themselves who hold a name alone.
result<void> ask_notes(command_engine& engine, std::span<found_lease> found, time_point give_up) {
    std::vector<std::array<std::string_view, 2>> texts;
    for (const found_lease& one : found) {
        if (one.holders.empty() && !one.note.empty()) texts.push_back({"GET", one.note});
    }
    std::vector<command> commands;
    for (const auto& pair : texts) commands.push_back({pair, repeat::idempotent});
    std::vector<result<reply>> seen(commands.size());
    if (!commands.empty()) engine.exchange(commands, seen, give_up);
    auto next = seen.begin();
    for (found_lease& one : found) {
        if (!one.holders.empty() || one.note.empty()) continue;
        const auto& told = *next++;
        if (!told) return std::unexpected(told.error());
        if (told->type() == reply::kind::string) one.info.holders.front().note = told->text();
    }
    return {};
}

// Asks who they all are, in one batch.
result<void> name_clients(command_engine& engine, std::span<lease_info> all, time_point give_up) {
    std::map<std::string, client_label> known;
    const auto note = [&](const std::string& id) {
        if (!id.empty()) known.try_emplace(id);
    };
    for (const lease_info& one : all) {
        for (const auto& who : one.holders) note(who.client);
        for (const auto& who : one.queue) note(who.client);
    }
    if (known.empty()) return {};
    std::vector<std::string> keys;
    for (const auto& [id, who] : known) keys.push_back(label_writer::key_of(id));
    std::vector<std::array<std::string_view, 2>> texts;
    for (const std::string& key : keys) texts.push_back({"GET", key});
    std::vector<command> commands;
    for (const auto& pair : texts) commands.push_back({pair, repeat::idempotent});
    std::vector<result<reply>> seen(commands.size());
    engine.exchange(commands, seen, give_up);
    std::size_t at = 0;
    for (auto& [id, who] : known) {
        const auto& told = seen[at++];
        if (!told) return std::unexpected(told.error());
        if (told->type() == reply::kind::string) who = label_writer::parse(told->text());
    }
    for (lease_info& one : all) {
        for (auto& who : one.holders) who.who = known[who.client];
        for (auto& who : one.queue) who.who = known[who.client];
    }
    return {};
}

const script& inspect_script() {
    static const script body{
#include "scripts/inspect.inc"
    };
    return body;
}

// One trip for so many names.
constexpr std::size_t per_trip = 200;

result<void> look(command_engine& engine, const command_lease_options& options,
                  std::span<const std::string> keys, time_point give_up,
                  std::vector<lease_info>& found) {
    std::vector<lock_name> names;
    detail::text_arena room;
    std::vector<std::array<std::string_view, 2>> sides;  // lock, line
    for (const std::string& key : keys) {
        auto name = lock_name::make(std::string_view(key).substr(options.prefix.size()));
        if (!name) continue;
        sides.push_back({key, keys_of(room, options.prefix, *name, options.scope).line});
        names.push_back(std::move(*name));
    }
    std::vector<std::array<std::string_view, 2>> texts;
    for (const auto& [lock, line] : sides) {
        texts.push_back({"GET", lock});
        texts.push_back({"PTTL", lock});
        texts.push_back({"ZCARD", line});
    }
    std::vector<command> commands;
    for (const auto& pair : texts) commands.push_back({pair, repeat::idempotent});
    std::vector<result<reply>> seen(commands.size());
    engine.exchange(commands, seen, give_up);
    const std::size_t before = found.size();
    std::vector<found_lease> here;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::span<const result<reply>> three(seen.data() + 3 * i, 3);
        for (const auto& one : three) {
            if (!one) return std::unexpected(one.error());
        }
        if (three[0]->type() != reply::kind::string) continue;
        auto one = describe(names[i], parse_value(three[0]->text(), owner_digits),
                            three[1]->number(), sides[i][0]);
        if (!one) continue;
        if (one->holders.empty() && !one->info.holders.front().client.empty()) {
            const std::string_view owner =
                std::string_view(three[0]->text()).substr(0, owner_digits);
            one->note = note_key(room, notes_key(room, sides[i][0]), owner);
        }
        one->info.waiters = static_cast<std::uint32_t>(three[2]->number());
        here.push_back(std::move(*one));
    }
    if (auto done = ask_holders(engine, here, give_up); !done) return done;
    if (auto done = ask_notes(engine, here, give_up); !done) return done;
    for (found_lease& one : here) {
        if (one.info.held()) found.push_back(std::move(one.info));
    }
    return name_clients(engine, std::span(found).subspan(before), give_up);
}

}  // namespace

result<std::vector<lease_info>> list_leases(command_engine& engine,
                                            const command_lease_options& options,
                                            std::string_view prefix, time_point give_up) {
    const std::string pattern = glob_of(options.prefix + std::string(prefix));
    const auto keys = find_keys(engine, options.scope, pattern, give_up);
    if (!keys) return std::unexpected(keys.error());
    std::vector<lease_info> found;
    for (std::size_t at = 0; at < keys->size(); at += per_trip) {
        const std::span<const std::string> part(keys->data() + at,
                                                std::min(per_trip, keys->size() - at));
        if (const auto done = look(engine, options, part, give_up, found); !done) {
            return std::unexpected(done.error());
        }
    }
    return found;
}

// A ticket is the time at which its waiter came, in microseconds.
result<std::optional<lease_info>> inspect_lease(command_engine& engine,
                                                const command_lease_options& options,
                                                const lock_name& name, time_point give_up) {
    detail::text_arena room;
    const lease_keys keys = keys_of(room, options.prefix, name, options.scope);
    const std::array<std::string_view, 5> names{keys.lock, keys.line, keys.waiters, keys.limit,
                                                notes_key(room, keys.lock)};
    const auto seen = engine.evaluate(inspect_script(), names, {}, give_up, repeat::idempotent);
    if (!seen) return std::unexpected(seen.error());
    const auto& parts = seen->elements();
    if (parts.size() < 4) return fail(errc::corrupt, "inspect.lua: " + to_string(*seen));
    auto found =
        describe(name, parse_value(parts[0].text(), client_digits), parts[1].number(), keys.lock);
    if (!found) found.emplace();
    if (auto done = ask_holders(engine, {&*found, 1}, give_up); !done) {
        return std::unexpected(done.error());
    }
    lease_info& info = found->info;
    info.name = name.value();
    if (found->holders.empty() && info.held()) info.holders.front().note = parts[3].text();
    if (std::string_view size = parts[2].text(); !size.empty()) {
        info.resized = static_cast<std::uint32_t>(take_number(size));
        if (info.mode.type == lease_mode::kind::permit) info.mode.limit = *info.resized;
    }
    for (std::size_t i = 4; i + 3 <= parts.size(); i += 3) {
        const std::string& ticket = parts[i + 1].text();
        std::int64_t us = 0;
        std::from_chars(ticket.data(), ticket.data() + ticket.size(), us);
        waiter_info& one = info.queue.emplace_back();
        one.since = wall_time(std::chrono::microseconds(us));
        one.client = parts[i].text();
        std::string_view want = parts[i + 2].text();
        one.mode = take_mode(want);
    }
    if (!info.held() && info.queue.empty()) return std::nullopt;
    info.waiters = static_cast<std::uint32_t>(info.queue.size());
    if (const auto done = name_clients(engine, {&info, 1}, give_up); !done) {
        return std::unexpected(done.error());
    }
    return std::move(info);
}

}  // namespace holdfast
