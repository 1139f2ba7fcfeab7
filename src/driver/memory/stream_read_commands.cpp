// SPDX-License-Identifier: Apache-2.0
//
// Reading what comes after an id, and waiting for it: XREAD, and XREADGROUP for one of a group.
//
// A command that finds nothing sets `waiting` on its connection if it may block; the session then
// waits, and whoever adds an entry serves it (engine_core.cpp).
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/engine_core.hpp"
#include "driver/memory/stream_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::memory {
namespace {

struct reader_name {
    std::string group;
    std::string consumer;
    bool unconfirmed = false;  ///< NOACK: what it reads does not become pending.
};

struct read_words {
    std::optional<std::int64_t> block_ms;
    std::int64_t count = 0;  ///< 0: all.
    std::optional<reader_name> reader;
    std::size_t streams = 0;  ///< Where the first key is.
    std::size_t keys = 0;
};

std::int64_t block_time(const call& c, std::size_t i) {
    const std::int64_t ms = c.integer(i, "ERR timeout is not an integer or out of range");
    if (ms < 0) refuse("ERR timeout is negative");
    return ms;
}

void only_for_groups(bool grouped, std::string_view option) {
    if (grouped) return;
    refuse(fmt::format(
        "ERR The {} option is only supported by XREADGROUP. You called XREAD instead.", option));
}

read_words parse_read(const call& c, bool grouped) {
    read_words found;
    reader_name reader;
    bool named = false;
    for (std::size_t i = 1; i < c.count() && found.streams == 0; ++i) {
        const std::size_t more = c.count() - 1 - i;
        if (c.is(i, "block") && more > 0) {
            found.block_ms = block_time(c, ++i);
        } else if (c.is(i, "count") && more > 0) {
            found.count = std::max<std::int64_t>(c.integer(++i), 0);
        } else if (c.is(i, "streams") && more > 0) {
            found.streams = i + 1;
            if (more % 2 != 0) {
                refuse(
                    "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must "
                    "be specified.");
            }
            found.keys = more / 2;
        } else if (c.is(i, "group") && more >= 2) {
            only_for_groups(grouped, "GROUP");
            reader.group = c.arg(i + 1);
            reader.consumer = c.arg(i + 2);
            named = true;
            i += 2;
        } else if (c.is(i, "noack")) {
            only_for_groups(grouped, "NOACK");
            reader.unconfirmed = true;
        } else {
            refuse_syntax();
        }
    }
    if (found.streams == 0) refuse_syntax();
    if (grouped && !named) refuse("ERR Missing GROUP option for XREADGROUP");
    if (grouped) found.reader = std::move(reader);
    return found;
}

/// From where one stream is read.
struct read_from {
    std::string key;
    stream_id after;
    bool news = false;  ///< ">": what nobody of the group has got yet.
};

stream_id after_all(const call& c, std::string_view key) {
    const auto* s = c.look<stream>(key);
    return s == nullptr ? first_stream_id : s->last_id();
}

void check_group(const call& c, std::string_view key, const reader_name& reader) {
    auto* s = c.look<stream>(key);
    if (s != nullptr && s->find_group(reader.group) != nullptr) return;
    refuse(
        fmt::format("NOGROUP No such key '{}' or consumer group '{}' in XREADGROUP with GROUP "
                    "option",
                    printed(key), printed(reader.group)));
}

read_from parse_start(const call& c, const read_words& how, std::size_t index) {
    const std::size_t at = how.streams + how.keys + index;
    read_from found{std::string(c.arg(how.streams + index)), {}};
    (void)c.look<stream>(found.key);  // refuses another type
    if (how.reader) check_group(c, found.key, *how.reader);
    const std::string_view word = printed(c.arg(at));
    if (word == "$") {
        if (how.reader) {
            refuse(
                "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the "
                "history of this consumer by specifying a proper ID, or use the > ID to get new "
                "messages. The $ ID would just return an empty result set.");
        }
        found.after = after_all(c, found.key);
    } else if (word == ">") {
        if (!how.reader) {
            refuse(
                "ERR The > ID can be specified only when calling XREADGROUP using the GROUP "
                "<group> <consumer> option.");
        }
        found.news = true;
    } else {
        found.after = stream_id_word(c, at);
    }
    return found;
}

/// An entry that is read; without fields if it was deleted meanwhile.
struct read_entry {
    stream_id id;
    const stream::fields* what;
};
using read_entries = std::vector<read_entry>;

read_entries entries_after(const stream& s, const stream_id& after, std::int64_t count) {
    read_entries found;
    for (auto at = s.entries().upper_bound(after); at != s.entries().end(); ++at) {
        found.push_back({at->first, &at->second});
        if (count != 0 && static_cast<std::int64_t>(found.size()) == count) break;
    }
    return found;
}

// What the group has not got yet, for this consumer.
read_entries take_news(const keyspace& db, stream& s, const reader_name& reader,
                       std::int64_t count) {
    stream::group& g = *s.find_group(reader.group);
    read_entries found = entries_after(s, g.last, count);
    if (found.empty()) return found;
    g.join(reader.consumer, db.now_ms()).seen_ms = db.now_ms();
    for (const read_entry& one : found) {
        s.advance(g, one.id);
        if (!reader.unconfirmed) g.deliver(one.id, reader.consumer, db.now_ms());
    }
    return found;
}

// What is pending for the consumer, once more.
read_entries take_pending(const keyspace& db, const stream_id& after, stream& s,
                          const reader_name& reader, std::int64_t count) {
    stream::group& g = *s.find_group(reader.group);
    stream::consumer& me = g.join(reader.consumer, db.now_ms());
    me.seen_ms = db.now_ms();
    read_entries found;
    for (auto at = me.pending.upper_bound(after); at != me.pending.end(); ++at) {
        const auto entry = s.entries().find(*at);
        found.push_back({*at, entry == s.entries().end() ? nullptr : &entry->second});
        if (found.back().what != nullptr) {
            stream::pending& noted = g.pending.at(*at);
            noted.delivered_ms = db.now_ms();
            ++noted.deliveries;
        }
        if (count != 0 && static_cast<std::int64_t>(found.size()) == count) break;
    }
    return found;
}

// One stream's part of the answer; nothing if it has none. What is pending is always answered.
std::optional<read_entries> take_part(keyspace& db, const read_from& from, const read_words& how) {
    key_node* n = db.find(from.key);
    if (n == nullptr) return std::nullopt;
    stream& s = call::as<stream>(*n);
    if (how.reader && !from.news) return take_pending(db, from.after, s, *how.reader, how.count);
    read_entries found = how.reader ? take_news(db, s, *how.reader, how.count)
                                    : entries_after(s, from.after, how.count);
    if (found.empty()) return std::nullopt;
    return found;
}

void put_part(sink& out, std::string_view key, const read_entries& found) {
    if (!out.nests_pairs()) out.array(2);  // else the whole is a map
    out.string(key);
    out.array(found.size());
    for (const read_entry& one : found) {
        if (one.what != nullptr) {
            put_stream_entry(out, one.id, *one.what);
        } else {
            out.array(2);
            out.string(to_string(one.id));
            out.nil_array();
        }
    }
}

/// A client that waits for entries of any of several streams.
class stream_wait final : public key_wait {
public:
    stream_wait(std::vector<read_from> from, read_words how)
        : from_(std::move(from)), how_(std::move(how)) {
        for (const read_from& one : from_) keys.push_back(one.key);
        timeout_ms = *how_.block_ms;
    }

    std::optional<reply> serve(engine_core& core, key_node& source) override {
        auto* s = get_if<stream>(source.value.data);
        const auto from = std::ranges::find(from_, source.key, &read_from::key);
        if (s == nullptr || from == from_.end()) return std::nullopt;
        if (how_.reader && s->find_group(how_.reader->group) == nullptr) {
            return reply::error(
                "NOGROUP the consumer group this client was blocked on no longer exists");
        }
        const auto found = take_part(core.db(), *from, how_);
        if (!found) return std::nullopt;
        reply_sink out;
        out.array(1);
        put_part(out, from->key, *found);
        return out.take();
    }

private:
    std::vector<read_from> from_;
    read_words how_;
};

template <bool Grouped>
void read(call& c) {
    const read_words how = parse_read(c, Grouped);
    std::vector<read_from> from;
    for (std::size_t i = 0; i < how.keys; ++i) from.push_back(parse_start(c, how, i));
    std::vector<std::pair<std::string_view, read_entries>> parts;
    for (const read_from& one : from) {
        if (auto found = take_part(c.db, one, how)) parts.emplace_back(one.key, std::move(*found));
    }
    if (!parts.empty()) {
        c.out.nests_pairs() ? c.out.map(parts.size()) : c.out.array(parts.size());
        for (const auto& [key, found] : parts) put_part(c.out, key, found);
        return;
    }
    if (!how.block_ms || !c.from.may_block || c.from.executing) return c.out.nil_array();
    c.from.waiting = std::make_unique<stream_wait>(std::move(from), how);
}

constexpr command_spec stream_read_table[] = {
    {"xread", -4, reads | blocks, read<false>},
    {"xreadgroup", -7, writes | blocks, read<true>},
};

}  // namespace

std::span<const command_spec> stream_read_commands() {
    return stream_read_table;
}

}  // namespace holdfast::memory
