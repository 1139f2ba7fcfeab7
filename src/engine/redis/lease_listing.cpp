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

/// A lock's value, as line.lua describes it. Another program's has no owner of ours.
struct lock_value {
    bool ours = false;
    bool marked = false;
    fencing_token fence = {};
};

lock_value parse_value(std::string_view text) {
    lock_value value;
    value.marked = text.ends_with('+');
    if (value.marked) text.remove_suffix(1);
    const std::size_t colon = text.find(':');
    value.ours = colon != std::string_view::npos && owner_token::parse(text.substr(0, colon));
    if (!value.ours) return {.marked = value.marked && text.empty()};
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), value.fence.value);
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

// What the three replies say of one name; nothing if it is free (by now).
std::optional<lease_info> describe(const lock_name& name, std::span<const result<reply>> seen) {
    const reply& text = *seen[0];
    const std::int64_t ms = seen[1]->number();
    if (text.type() != reply::kind::string || ms == -2) return std::nullopt;
    const lock_value value = parse_value(text.text());
    lease_info info;
    info.name = name.value();
    info.fence = value.fence;
    info.waiters = static_cast<std::uint32_t>(seen[2]->number());
    if (ms >= 0) {
        const auto left = std::chrono::milliseconds(ms) - (value.marked ? slack : slack.zero());
        if (value.marked && left <= duration::zero()) return std::nullopt;
        info.remaining = left;
    }
    return info;
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
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::span<const result<reply>> three(seen.data() + 3 * i, 3);
        for (const auto& one : three) {
            if (!one) return std::unexpected(one.error());
        }
        if (auto info = describe(names[i], three)) found.push_back(std::move(*info));
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
