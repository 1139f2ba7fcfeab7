// SPDX-License-Identifier: Apache-2.0
//
// XINFO: a stream, its groups and their consumers, for people and monitors.
//
// Redis keeps a stream in a tree of nodes and tells of those too. Here there is no such tree; the
// numbers are what Redis would have for entries that fill its nodes.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/engine_core.hpp"
#include "driver/memory/stream_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace holdfast::memory {
namespace {

constexpr std::size_t entries_of_a_node = 100;

/// One field after the other of an array that is announced by how many there are.
struct field_writer {
    sink& out;

    void name(std::string_view text) const { out.string(text); }
    void text(std::string_view field, std::string_view value) const {
        out.string(field);
        out.string(value);
    }
    void number(std::string_view field, std::uint64_t value) const {
        out.string(field);
        out.integer(static_cast<std::int64_t>(value));
    }
    void number(std::string_view field, const std::optional<std::int64_t>& value) const {
        out.string(field);
        value ? out.integer(*value) : out.nil();
    }
    void id(std::string_view field, const stream_id& value) const { text(field, to_string(value)); }
};

void put_head(const field_writer& put, const stream& s) {
    const std::size_t nodes = (s.size() + entries_of_a_node - 1) / entries_of_a_node;
    put.number("length", s.size());
    put.number("radix-tree-keys", nodes);
    put.number("radix-tree-nodes", nodes + 1);
    put.id("last-generated-id", s.last_id());
    put.id("max-deleted-entry-id", s.max_deleted_id());
    put.number("entries-added", s.entries_added());
    put.id("recorded-first-entry-id", s.first_id());
}
constexpr std::size_t head_fields = 7;

void put_entry_or_nil(call& c, stream::entry_map::const_iterator at, const stream& s) {
    at == s.entries().end() ? c.out.nil() : put_stream_entry(c.out, at->first, at->second);
}

void put_summary(call& c, const stream& s) {
    const field_writer put{c.out};
    c.out.map(head_fields + 3);
    put_head(put, s);
    put.number("groups", s.groups().size());
    put.name("first-entry");
    put_entry_or_nil(c, s.entries().begin(), s);
    put.name("last-entry");
    put_entry_or_nil(c, s.size() == 0 ? s.entries().end() : std::prev(s.entries().end()), s);
}

// How many elements of a list are shown: all of them for zero.
std::size_t shown(std::size_t size, std::int64_t most) {
    return most == 0 ? size : std::min(size, static_cast<std::size_t>(most));
}

void put_group_pending(call& c, const stream::group& g, std::int64_t most) {
    std::size_t left = shown(g.pending.size(), most);
    c.out.array(left);
    for (auto at = g.pending.begin(); left > 0; ++at, --left) {
        c.out.array(4);
        c.out.string(to_string(at->first));
        c.out.string(at->second.consumer);
        c.out.integer(at->second.delivered_ms);
        c.out.integer(at->second.deliveries);
    }
}

void put_consumer(call& c, const stream::group& g, std::string_view name,
                  const stream::consumer& one, std::int64_t most) {
    const field_writer put{c.out};
    c.out.map(4);
    put.text("name", name);
    put.number("seen-time", std::optional(one.seen_ms));
    put.number("pel-count", one.pending.size());
    put.name("pending");
    std::size_t left = shown(one.pending.size(), most);
    c.out.array(left);
    for (auto at = one.pending.begin(); left > 0; ++at, --left) {
        const stream::pending& noted = g.pending.at(*at);
        c.out.array(3);
        c.out.string(to_string(*at));
        c.out.integer(noted.delivered_ms);
        c.out.integer(noted.deliveries);
    }
}

void put_full_group(call& c, const stream& s, std::string_view name, const stream::group& g,
                    std::int64_t most) {
    const field_writer put{c.out};
    c.out.map(7);
    put.text("name", name);
    put.id("last-delivered-id", g.last);
    put.number("entries-read", g.entries_read);
    put.number("lag", s.lag(g));
    put.number("pel-count", g.pending.size());
    put.name("pending");
    put_group_pending(c, g, most);
    put.name("consumers");
    c.out.array(g.consumers.size());
    for (const auto& [who, one] : g.consumers) put_consumer(c, g, who, one, most);
}

void put_full(call& c, const stream& s, std::int64_t most) {
    const field_writer put{c.out};
    c.out.map(head_fields + 2);
    put_head(put, s);
    put.name("entries");
    std::size_t left = shown(s.size(), most);
    c.out.array(left);
    for (auto at = s.entries().begin(); left > 0; ++at, --left) {
        put_stream_entry(c.out, at->first, at->second);
    }
    put.name("groups");
    c.out.array(s.groups().size());
    for (const auto& [name, g] : s.groups()) put_full_group(c, s, name, g, most);
}

stream& known_stream(const call& c) {
    auto* s = c.look<stream>(c.arg(2));
    if (s == nullptr) refuse("ERR no such key");
    return *s;
}

[[noreturn]] void refuse_info_words(const call& c) {
    refuse(
        fmt::format("ERR unknown subcommand or wrong number of arguments for '{}'. Try XINFO HELP.",
                    printed(c.arg(1), 128)));
}

void info_stream(call& c) {
    const stream& s = known_stream(c);
    if (c.count() == 3) return put_summary(c, s);
    if (c.count() != 4 && c.count() != 6) refuse_info_words(c);
    if (!c.is(3, "full")) refuse_info_words(c);
    std::int64_t most = 10;
    if (c.count() == 6) {
        if (!c.is(4, "count")) refuse_info_words(c);
        most = c.integer(5);
        if (most < 0) most = 10;
    }
    put_full(c, s, most);
}

void info_groups(call& c) {
    const stream& s = known_stream(c);
    const field_writer put{c.out};
    c.out.array(s.groups().size());
    for (const auto& [name, g] : s.groups()) {
        c.out.map(6);
        put.text("name", name);
        put.number("consumers", g.consumers.size());
        put.number("pending", g.pending.size());
        put.id("last-delivered-id", g.last);
        put.number("entries-read", g.entries_read);
        put.number("lag", s.lag(g));
    }
}

void info_consumers(call& c) {
    stream::group* g = known_stream(c).find_group(c.arg(3));
    if (g == nullptr) {
        refuse(fmt::format("NOGROUP No such consumer group '{}' for key name '{}'",
                           printed(c.arg(3)), printed(c.arg(2))));
    }
    const field_writer put{c.out};
    c.out.array(g->consumers.size());
    for (const auto& [name, one] : g->consumers) {
        c.out.map(3);
        put.text("name", name);
        put.number("pending", one.pending.size());
        put.number("idle", std::optional(std::max<std::int64_t>(c.db.now_ms() - one.seen_ms, 0)));
    }
}

constexpr command_spec info_parts[] = {
    {"xinfo|stream", -3, reads, info_stream},
    {"xinfo|groups", 3, reads, info_groups},
    {"xinfo|consumers", 4, reads, info_consumers},
};

constexpr command_spec stream_info_table[] = {
    {"xinfo", -2, 0, nullptr, info_parts},
};

}  // namespace

std::span<const command_spec> stream_info_commands() {
    return stream_info_table;
}

}  // namespace holdfast::memory
