// SPDX-License-Identifier: Apache-2.0
#include "engine/redis/lease_listing.hpp"

#include "engine/redis/cluster_shards.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace holdfast {
namespace {

// How much longer a marked lock stays than its lease runs: `slack` in line.lua.
constexpr std::chrono::milliseconds slack{3000};

// The prefix as a pattern that matches it to the letter.
std::string glob_of(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '*' || c == '?' || c == '[' || c == ']' || c == '\\' || c == '^') out += '\\';
        out += c;
    }
    return out + "*";
}

// Holders beside each other that are told.
constexpr int most_shares = 200;

const script& shares() {
    static const script body{
#include "scripts/shares.inc"
    };
    return body;
}

/// A lock's value, as holders.lua describes it. Another program's is not ours.
struct lock_value {
    bool ours = false;
    bool marked = false;
    bool several = false;  ///< Its holders stand beside it.
    lease_mode mode = {};
    fencing_token fence = {};
};

// Takes a number from the front of the text.
std::uint64_t take_number(std::string_view& text) {
    std::uint64_t number = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

// "s3:" or "p7/10:" from the front; nothing for an exclusive one.
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

lock_value parse_value(std::string_view text) {
    lock_value value;
    value.marked = text.ends_with('+');
    if (value.marked) text.remove_suffix(1);
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return {.marked = value.marked && text.empty()};
    std::string_view rest = text.substr(colon + 1);
    value.mode = take_mode(rest);
    value.several = colon == 0 && value.mode.type != lease_mode::kind::exclusive;
    value.ours = value.several || owner_token::parse(text.substr(0, colon));
    if (!value.ours) return {};
    if (!value.several) value.fence.value = take_number(rest);
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
            if (!is_shared_key(key.text())) keys.push_back(key.text());
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
    std::string holders;  ///< The key of those who hold it beside each other; empty: there is one.
};

// What the three replies say of one name; nothing if it is free (by now).
std::optional<found_lease> describe(const lock_name& name, std::span<const result<reply>> seen,
                                    std::string_view lock) {
    const reply& text = *seen[0];
    const std::int64_t ms = seen[1]->number();
    if (text.type() != reply::kind::string || ms == -2) return std::nullopt;
    const lock_value value = parse_value(text.text());
    lease_info info;
    info.name = name.value();
    info.mode = value.mode;
    info.fence = value.fence;
    info.waiters = static_cast<std::uint32_t>(seen[2]->number());
    if (ms >= 0) {
        const auto left = std::chrono::milliseconds(ms) - (value.marked ? slack : slack.zero());
        if (value.marked && left <= duration::zero()) return std::nullopt;
        info.remaining = left;
    }
    if (value.several) return found_lease{std::move(info), holders_key(lock)};
    info.holders.push_back({.who = {},
                            .since = {},
                            .fence = value.fence,
                            .remaining = info.remaining,
                            .permits = value.mode.permits});
    return found_lease{std::move(info), {}};
}

// False if nobody of them is left.
bool add_holders(lease_info& info, const reply& told) {
    const auto& parts = told.elements();
    for (std::size_t i = 0; i + 4 <= parts.size(); i += 4) {
        const auto number = [&](std::size_t at) { return parts[i + at].number(); };
        info.holders.push_back({.who = {},
                                .since = {},
                                .fence = {static_cast<std::uint64_t>(number(3))},
                                .remaining = std::chrono::milliseconds(number(1)),
                                .permits = static_cast<std::uint32_t>(number(2))});
    }
    std::ranges::sort(info.holders, {}, &holder_info::fence);
    if (info.holders.empty()) return false;
    info.fence = info.holders.back().fence;
    return true;
}

result<void> ask_holders(command_engine& engine, std::span<found_lease> found, time_point give_up) {
    const std::string most = std::to_string(most_shares);
    std::vector<std::array<std::string_view, 5>> texts;
    for (const found_lease& one : found) {
        if (one.holders.empty()) continue;
        texts.push_back({"EVALSHA", shares().sha1(), "1", one.holders, most});
    }
    std::vector<command> commands;
    for (const auto& text : texts) commands.push_back({text, repeat::idempotent, &shares()});
    std::vector<result<reply>> seen(commands.size());
    if (!commands.empty()) engine.exchange(commands, seen, give_up);
    auto next = seen.begin();
    for (found_lease& one : found) {
        if (one.holders.empty()) continue;
        const auto& told = *next++;
        if (!told) return std::unexpected(told.error());
        if (told->is_error()) return std::unexpected(to_error(*told));
        if (!add_holders(one.info, *told)) one.info.name.clear();
    }
    return {};
}

// One trip for so many names.
constexpr std::size_t per_trip = 200;

result<void> look(command_engine& engine, const command_lease_options& options,
                  std::span<const std::string> keys, time_point give_up,
                  std::vector<lease_info>& found) {
    std::vector<lock_name> names;
    std::vector<std::array<std::string, 2>> sides;  // lock, line
    for (const std::string& key : keys) {
        auto name = lock_name::make(std::string_view(key).substr(options.prefix.size()));
        if (!name) continue;
        sides.push_back({key, keys_of(options.prefix, *name, options.scope).line});
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
    std::vector<found_lease> here;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::span<const result<reply>> three(seen.data() + 3 * i, 3);
        for (const auto& one : three) {
            if (!one) return std::unexpected(one.error());
        }
        if (auto one = describe(names[i], three, sides[i][0])) here.push_back(std::move(*one));
    }
    if (auto done = ask_holders(engine, here, give_up); !done) return done;
    for (found_lease& one : here) {
        if (!one.info.name.empty()) found.push_back(std::move(one.info));
    }
    return {};
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

}  // namespace holdfast
