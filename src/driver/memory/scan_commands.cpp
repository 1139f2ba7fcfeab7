// SPDX-License-Identifier: Apache-2.0
//
// Walking piecemeal: SCAN, HSCAN, SSCAN, ZSCAN. What is there for the whole walk is met at least
// once; see dict.hpp for why. As in Redis, a small hash or sorted set comes in one piece and in
// order.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/glob.hpp"

#include <charconv>
#include <optional>
#include <vector>

namespace holdfast::memory {
namespace {

struct scan_options {
    std::size_t count = 10;
    std::string_view pattern = "*";
    std::optional<std::string_view> type;

    [[nodiscard]] bool wants(std::string_view key) const noexcept {
        return pattern == "*" || glob_match(pattern, key);
    }
};

std::uint64_t parse_cursor(std::string_view text) {
    std::uint64_t cursor = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), cursor);
    if (failure != std::errc{} || end != text.data() + text.size()) refuse("ERR invalid cursor");
    return cursor;
}

scan_options parse_options(const call& c, std::size_t from, bool typed) {
    scan_options o;
    for (std::size_t i = from; i < c.count(); i += 2) {
        if (i + 1 == c.count()) refuse_syntax();
        if (c.is(i, "count")) {
            const std::int64_t count = c.integer(i + 1);
            if (count < 1) refuse_syntax();
            o.count = static_cast<std::size_t>(count);
        } else if (c.is(i, "match")) {
            o.pattern = c.arg(i + 1);
        } else if (c.is(i, "type") && typed) {
            o.type = c.arg(i + 1);
        } else {
            refuse_syntax();
        }
    }
    return o;
}

void answer_cursor(const call& c, std::uint64_t cursor) {
    number_text room;
    const auto end = std::to_chars(room.data(), room.data() + room.size(), cursor).ptr;
    c.out.array(2);
    c.out.string({room.data(), static_cast<std::size_t>(end - room.data())});
}

void scan(call& c) {
    const std::uint64_t cursor = parse_cursor(c.arg(1));
    const scan_options o = parse_options(c, 2, true);
    std::vector<std::string_view> found;
    const std::uint64_t next = c.db.keys().scan(cursor, o.count, [&](const key_node& n) {
        if (c.db.expired(n) || !o.wants(n.key)) return;
        if (!o.type || is_word(*o.type, type_name(n.value.data))) found.push_back(n.key);
    });
    answer_cursor(c, next);
    c.out.array(found.size());
    for (const std::string_view key : found) c.out.string(key);
}

constexpr std::size_t small_hash = 512;        // Redis: hash-max-listpack-entries
constexpr std::size_t small_sorted_set = 128;  // Redis: zset-max-listpack-entries

void answer_empty(const call& c) {
    answer_cursor(c, 0);
    c.out.array(0);
}

// The nodes that one step of a walk over a dict meets, in order if it is small.
template <class Dict>
std::uint64_t collect(const Dict& table, std::uint64_t cursor, const scan_options& o,
                      std::size_t small, std::vector<typename Dict::node*>& found) {
    const auto take = [&](typename Dict::node& n) {
        if (o.wants(n.key)) found.push_back(&n);
    };
    if (table.size() > small) return table.scan(cursor, o.count, take);
    for (auto* n = table.first(); n != nullptr; n = n->after) take(*n);
    return 0;
}

void hscan(call& c) {
    const std::uint64_t cursor = parse_cursor(c.arg(2));
    const hash_value* h = c.look<hash_value>(c.arg(1));
    if (h == nullptr) return answer_empty(c);
    const scan_options o = parse_options(c, 3, false);
    std::vector<hash_value::node*> found;
    answer_cursor(c, collect(*h, cursor, o, small_hash, found));
    c.out.array(found.size() * 2);
    for (const auto* n : found) {
        c.out.string(n->key);
        c.out.string(n->value);
    }
}

void sscan(call& c) {
    const std::uint64_t cursor = parse_cursor(c.arg(2));
    const set_value* s = c.look<set_value>(c.arg(1));
    if (s == nullptr) return answer_empty(c);
    const scan_options o = parse_options(c, 3, false);
    std::vector<set_value::node*> found;
    answer_cursor(c, collect(*s, cursor, o, 0, found));
    c.out.array(found.size());
    for (const auto* n : found) c.out.string(n->key);
}

void zscan(call& c) {
    const std::uint64_t cursor = parse_cursor(c.arg(2));
    const sorted_set* z = c.look<sorted_set>(c.arg(1));
    if (z == nullptr) return answer_empty(c);
    const scan_options o = parse_options(c, 3, false);
    std::vector<sorted_set::entry*> found;
    std::uint64_t next = 0;
    if (z->size() <= small_sorted_set) {
        z->walk(0, 1, z->size(), [&](sorted_set::entry& e) {
            if (o.wants(e.key)) found.push_back(&e);
        });
    } else {
        next = collect(z->by_member(), cursor, o, 0, found);
    }
    answer_cursor(c, next);
    c.out.array(found.size() * 2);
    for (const auto* e : found) {
        c.out.string(e->key);
        number_text room;  // a string in RESP3 too
        c.out.string(format_double(e->value, room));
    }
}

constexpr command_spec scan_table[] = {
    {"scan", -2, reads, scan},
    {"hscan", -3, reads, hscan},
    {"sscan", -3, reads, sscan},
    {"zscan", -3, reads, zscan},
};

}  // namespace

std::span<const command_spec> scan_commands() {
    return scan_table;
}

}  // namespace holdfast::memory
