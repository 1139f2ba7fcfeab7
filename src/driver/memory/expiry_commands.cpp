// SPDX-License-Identifier: Apache-2.0
//
// When keys expire: EXPIRE and its relatives, TTL and its relatives, PERSIST.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/expiry_time.hpp"

#include <fmt/format.h>

namespace holdfast::memory {

std::optional<expiry_unit> expiry_unit_of(std::string_view word) noexcept {
    if (is_word(word, "px")) return expiry_unit::milliseconds;
    if (is_word(word, "ex")) return expiry_unit::seconds;
    if (is_word(word, "pxat")) return expiry_unit::at_milliseconds;
    if (is_word(word, "exat")) return expiry_unit::at_seconds;
    return {};
}

namespace {

[[noreturn]] void refuse_time(const call& c) {
    refuse(fmt::format("ERR invalid expire time in '{}' command", c.spec->name));
}

std::int64_t moment(const call& c, expiry_unit unit, std::int64_t number) {
    std::int64_t when = number;
    const bool whole_seconds = unit == expiry_unit::seconds || unit == expiry_unit::at_seconds;
    const bool from_now = unit == expiry_unit::seconds || unit == expiry_unit::milliseconds;
    if (whole_seconds && __builtin_mul_overflow(when, 1000, &when)) refuse_time(c);
    if (from_now && __builtin_add_overflow(when, c.db.now_ms(), &when)) refuse_time(c);
    return when;
}

}  // namespace

std::int64_t expiry_time(const call& c, expiry_argument e) {
    const std::int64_t number = c.integer(e.at);
    if (number <= 0) refuse_time(c);
    return moment(c, e.unit, number);
}

std::int64_t any_expiry_time(const call& c, expiry_argument e) {
    return moment(c, e.unit, c.integer(e.at));
}

namespace {

struct conditions {
    bool nx = false;
    bool xx = false;
    bool gt = false;
    bool lt = false;

    [[nodiscard]] bool allow(std::int64_t old, std::int64_t when) const noexcept {
        if (nx && old != no_expiry) return false;
        if (xx && old == no_expiry) return false;
        if (gt && (old == no_expiry || when <= old)) return false;  // no expiry is the latest
        return !lt || old == no_expiry || when < old;
    }
};

conditions parse_conditions(const call& c) {
    conditions o;
    for (std::size_t i = 3; i < c.count(); ++i) {
        if (c.is(i, "nx")) {
            o.nx = true;
        } else if (c.is(i, "xx")) {
            o.xx = true;
        } else if (c.is(i, "gt")) {
            o.gt = true;
        } else if (c.is(i, "lt")) {
            o.lt = true;
        } else {
            refuse(fmt::format("ERR Unsupported option {}", c.arg(i)));
        }
    }
    if (o.nx && (o.xx || o.gt || o.lt)) {
        refuse("ERR NX and XX, GT or LT options at the same time are not compatible");
    }
    if (o.gt && o.lt) refuse("ERR GT and LT options at the same time are not compatible");
    return o;
}

void set_expiry(call& c, expiry_unit unit) {
    const conditions allowed = parse_conditions(c);
    const std::int64_t when = any_expiry_time(c, {unit, 2});
    key_node* n = c.db.find(c.arg(1));
    if (n == nullptr || !allowed.allow(n->value.expires_ms, when)) return c.out.integer(0);
    if (when <= c.db.now_ms()) {
        c.db.erase(*n);
    } else {
        c.db.set_expiry(*n, when);
    }
    c.db.modified(c.arg(1));
    c.out.integer(1);
}

void expire(call& c) {
    set_expiry(c, expiry_unit::seconds);
}
void pexpire(call& c) {
    set_expiry(c, expiry_unit::milliseconds);
}
void expireat(call& c) {
    set_expiry(c, expiry_unit::at_seconds);
}
void pexpireat(call& c) {
    set_expiry(c, expiry_unit::at_milliseconds);
}

// -2: no such key, -1: it never expires; otherwise what `of` makes of the moment.
template <class Of>
void answer_expiry(call& c, Of of) {
    const key_node* n = c.db.find(c.arg(1));
    if (n == nullptr) return c.out.integer(-2);
    if (n->value.expires_ms == no_expiry) return c.out.integer(-1);
    c.out.integer(of(n->value.expires_ms));
}

// To the nearest. Requires: not negative. Up to the largest: what PXAT takes need not be sensible.
std::int64_t to_seconds(std::int64_t ms) {
    return static_cast<std::int64_t>((static_cast<std::uint64_t>(ms) + 500) / 1000);
}

void ttl(call& c) {
    answer_expiry(c, [&](std::int64_t when) { return to_seconds(when - c.db.now_ms()); });
}
void pttl(call& c) {
    answer_expiry(c, [&](std::int64_t when) { return when - c.db.now_ms(); });
}
void expiretime(call& c) {
    answer_expiry(c, [](std::int64_t when) { return to_seconds(when); });
}
void pexpiretime(call& c) {
    answer_expiry(c, [](std::int64_t when) { return when; });
}

void persist(call& c) {
    key_node* n = c.db.find(c.arg(1));
    if (n == nullptr || n->value.expires_ms == no_expiry) return c.out.integer(0);
    c.db.drop_expiry(*n);
    c.db.modified(c.arg(1));
    c.out.integer(1);
}

constexpr command_spec expiry_table[] = {
    {"expire", -3, writes | fast_path, expire},
    {"pexpire", -3, writes | fast_path, pexpire},
    {"expireat", -3, writes | fast_path, expireat},
    {"pexpireat", -3, writes | fast_path, pexpireat},
    {"ttl", 2, reads | fast_path, ttl},
    {"pttl", 2, reads | fast_path, pttl},
    {"expiretime", 2, reads | fast_path, expiretime},
    {"pexpiretime", 2, reads | fast_path, pexpiretime},
    {"persist", 2, writes | fast_path, persist},
};

}  // namespace

std::span<const command_spec> expiry_commands() {
    return expiry_table;
}

}  // namespace holdfast::memory
