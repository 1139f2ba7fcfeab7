// SPDX-License-Identifier: Apache-2.0
//
// Groups of consumers: making them, acknowledging, and looking at what is pending. As in Redis,
// what happens in a group does not count as a change of the key that a transaction watches.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/engine_core.hpp"
#include "driver/memory/stream_words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::memory {
namespace {

struct group_words {
    bool make_stream = false;
    std::optional<std::int64_t> entries_read;
};

group_words parse_group_words(const call& c, bool creates) {
    group_words found;
    for (std::size_t i = 5; i < c.count(); ++i) {
        if (creates && c.is(i, "mkstream")) {
            found.make_stream = true;
        } else if (c.is(i, "entriesread") && i + 1 < c.count()) {
            const std::int64_t read = c.integer(++i);
            if (read < -1) refuse("ERR value for ENTRIESREAD must be positive or -1");
            found.entries_read = read == -1 ? std::nullopt : std::optional<std::int64_t>(read);
        } else {
            refuse(
                fmt::format("ERR unknown subcommand or wrong number of arguments for '{}'. Try "
                            "XGROUP HELP.",
                            printed(c.arg(1), 128)));
        }
    }
    return found;
}

stream& existing_stream(const call& c) {
    auto* s = c.look<stream>(c.arg(2));
    if (s == nullptr) {
        refuse(
            "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may "
            "want to use the MKSTREAM option to create an empty stream automatically.");
    }
    return *s;
}

stream::group& existing_group(const call& c) {
    stream::group* g = existing_stream(c).find_group(c.arg(3));
    if (g == nullptr) {
        refuse(fmt::format("NOGROUP No such consumer group '{}' for key name '{}'",
                           printed(c.arg(3)), printed(c.arg(2))));
    }
    return *g;
}

// "$" is the last id that the stream has given.
stream_id group_start(const call& c, const stream* s) {
    if (printed(c.arg(4)) != "$") return stream_id_word(c, 4);
    return s == nullptr ? first_stream_id : s->last_id();
}

void group_create(call& c) {
    const group_words how = parse_group_words(c, true);
    if (!how.make_stream) (void)existing_stream(c);
    auto* there = c.look<stream>(c.arg(2));
    const stream_id start = group_start(c, there);
    if (there == nullptr) {
        there = &c.make<stream>(c.arg(2));
        c.db.modified(c.arg(2));
    }
    const auto [place, fresh] = there->groups().try_emplace(std::string(c.arg(3)));
    if (!fresh) refuse("BUSYGROUP Consumer Group name already exists");
    place->second.last = start;
    place->second.entries_read = how.entries_read;
    c.out.ok();
}

void group_set_id(call& c) {
    const group_words how = parse_group_words(c, false);
    stream::group& g = existing_group(c);
    const auto* s = c.look<stream>(c.arg(2));
    // Unlike CREATE it also takes the ends of a range.
    g.last = printed(c.arg(4)) == "$" ? s->last_id() : stream_end_word(c, 4);
    g.entries_read = how.entries_read;
    c.out.ok();
}

void group_destroy(call& c) {
    auto& groups = existing_stream(c).groups();
    const auto found = groups.find(c.arg(3));
    if (found == groups.end()) return c.out.integer(0);
    groups.erase(found);
    c.core.key_may_be_ready(*c.db.find(c.arg(2)));  // who waits in this group is told
    c.out.integer(1);
}

void group_add_consumer(call& c) {
    stream::group& g = existing_group(c);
    const bool fresh = !g.consumers.contains(c.arg(4));
    g.join(c.arg(4), c.db.now_ms());
    c.out.integer(fresh ? 1 : 0);
}

void group_drop_consumer(call& c) {
    stream::group& g = existing_group(c);
    c.out.integer(static_cast<std::int64_t>(g.dismiss(c.arg(4))));
}

constexpr command_spec group_parts[] = {
    {"xgroup|create", -5, writes | grows, group_create},
    {"xgroup|setid", -5, writes, group_set_id},
    {"xgroup|destroy", 4, writes, group_destroy},
    {"xgroup|createconsumer", 5, writes | grows, group_add_consumer},
    {"xgroup|delconsumer", 5, writes, group_drop_consumer},
};

void xack(call& c) {
    auto* s = c.look<stream>(c.arg(1));
    stream::group* g = s == nullptr ? nullptr : s->find_group(c.arg(2));
    if (g == nullptr) return c.out.integer(0);
    std::vector<stream_id> ids;
    for (std::size_t i = 3; i < c.count(); ++i) ids.push_back(stream_id_word(c, i));
    std::int64_t count = 0;
    for (const stream_id& id : ids) count += g->acknowledge(id) ? 1 : 0;
    c.out.integer(count);
}

void pending_summary(call& c, const stream::group& g) {
    c.out.array(4);
    c.out.integer(static_cast<std::int64_t>(g.pending.size()));
    if (g.pending.empty()) {
        c.out.nil();
        c.out.nil();
        return c.out.nil_array();
    }
    c.out.string(to_string(g.pending.begin()->first));
    c.out.string(to_string(g.pending.rbegin()->first));
    const auto busy = [](const auto& one) { return !one.second.pending.empty(); };
    c.out.array(static_cast<std::size_t>(std::ranges::count_if(g.consumers, busy)));
    for (const auto& [name, one] : g.consumers) {
        if (one.pending.empty()) continue;
        c.out.array(2);
        c.out.string(name);
        c.out.string(std::to_string(one.pending.size()));
    }
}

struct pending_words {
    stream_id first;
    stream_id last;
    std::int64_t count = 0;
    std::int64_t least_idle = 0;
    std::optional<std::string_view> consumer;
};

pending_words parse_pending(const call& c) {
    pending_words found;
    std::size_t at = 3;
    if (c.is(at, "idle")) {
        found.least_idle = c.integer(at + 1);
        if (c.count() < 8) refuse_syntax();
        at += 2;
    }
    found.count = std::max<std::int64_t>(c.integer(at + 2), 0);
    found.first = range_start_word(c, at);
    found.last = range_end_word(c, at + 1);
    if (at + 3 < c.count()) found.consumer = c.arg(at + 3);
    return found;
}

std::int64_t idle_for(const call& c, const stream::pending& one) {
    return c.db.now_ms() - one.delivered_ms;
}

void xpending(call& c) {
    if (c.count() == 3) return pending_summary(c, stream_group_of(c, 1, 2));
    if (c.count() < 6 || c.count() > 9) refuse_syntax();
    const pending_words how = parse_pending(c);
    const stream::group& g = stream_group_of(c, 1, 2);
    std::vector<std::map<stream_id, stream::pending>::const_iterator> found;
    const auto wanted = static_cast<std::size_t>(how.count);
    for (auto at = g.pending.lower_bound(how.first); at != g.pending.end(); ++at) {
        if (found.size() == wanted || at->first > how.last) break;
        if (how.consumer && at->second.consumer != *how.consumer) continue;
        if (how.least_idle != 0 && idle_for(c, at->second) < how.least_idle) continue;
        found.push_back(at);
    }
    c.out.array(found.size());
    for (const auto at : found) {
        c.out.array(4);
        c.out.string(to_string(at->first));
        c.out.string(at->second.consumer);
        c.out.integer(std::max<std::int64_t>(idle_for(c, at->second), 0));
        c.out.integer(at->second.deliveries);
    }
}

constexpr command_spec stream_group_table[] = {
    {"xgroup", -2, 0, nullptr, group_parts},
    {"xack", -4, writes | fast_path, xack},
    {"xpending", -3, reads, xpending},
};

}  // namespace

std::span<const command_spec> stream_group_commands() {
    return stream_group_table;
}

}  // namespace holdfast::memory
