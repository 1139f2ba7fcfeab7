// SPDX-License-Identifier: Apache-2.0
//
// From one list to another, and waiting for a list: LMOVE, RPOPLPUSH, BLPOP, BRPOP, BLMOVE.
//
// A command that finds nothing sets `waiting` on its connection if it may block; the session then
// waits, and whoever pushes serves it (engine_core.cpp).
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/engine_core.hpp"
#include "driver/memory/list_end.hpp"

#include <cmath>
#include <memory>
#include <optional>
#include <utility>

namespace holdfast::memory {
namespace {

list_end parse_end(const call& c, std::size_t i) {
    if (c.is(i, "left")) return list_end::left;
    if (c.is(i, "right")) return list_end::right;
    refuse_syntax();
}

// Moves one element and answers it. False: there is nothing to move.
bool move_element(call& c, list_end from, list_end to) {
    list_value* source = c.look<list_value>(c.arg(1));
    if (source == nullptr) return false;
    // Refuses another type before anything changes.
    static_cast<void>(c.look<list_value>(c.arg(2)));
    std::string text = pop_end(*source, from);
    c.out.string(text);
    if (c.arg(1) == c.arg(2)) {
        push_end(*source, to, std::move(text));
        c.db.modified(c.arg(1));
        return true;
    }
    c.changed(c.arg(1), *source);
    push_end(c.make<list_value>(c.arg(2)), to, std::move(text));
    c.db.modified(c.arg(2));
    c.core.key_may_be_ready(*c.db.find(c.arg(2)));
    return true;
}

void lmove(call& c) {
    const list_end from = parse_end(c, 3);
    const list_end to = parse_end(c, 4);
    if (!move_element(c, from, to)) c.out.nil();
}

void rpoplpush(call& c) {
    if (!move_element(c, list_end::right, list_end::left)) c.out.nil();
}

std::int64_t parse_timeout(const call& c, std::size_t i) {
    const auto seconds = parse_long_double(c.arg(i));
    if (!seconds) refuse("ERR timeout is not a float or out of range");
    const long double ms = std::ceil(*seconds * 1000);
    // Out of range reads as negative in Redis 7.0, whose conversion wraps around.
    if (ms < 0 || ms >= 9223372036854775807.0L) refuse("ERR timeout is negative");
    return static_cast<std::int64_t>(ms);
}

/// A client that waits for an element of a list.
class list_wait final : public key_wait {
public:
    struct target {
        std::string key;
        list_end end;
    };

    /// Without a target the element goes to the client, with its key.
    list_wait(list_end from, std::int64_t timeout, std::optional<target> move_to = {})
        : from_(from), move_to_(std::move(move_to)) {
        timeout_ms = timeout;
    }

    std::optional<reply> serve(engine_core& core, key_node& source) override {
        auto* list = get_if<list_value>(source.value.data);
        if (list == nullptr) return std::nullopt;
        return move_to_ ? move(core, source, *list) : pop(core, source, *list);
    }

private:
    [[nodiscard]] reply pop(engine_core& core, key_node& source, list_value& list) const {
        const std::string key = source.key;
        std::vector<reply> pair{reply::string(key), reply::string(pop_end(list, from_))};
        if (list.empty()) core.db().erase(source);
        core.db().modified(key);
        return reply::array(std::move(pair));
    }

    [[nodiscard]] reply move(engine_core& core, key_node& source, list_value& list) const {
        keyspace& db = core.db();
        const std::string key = source.key;
        key_node* into = db.find(move_to_->key);
        if (into != nullptr && get_if<list_value>(into->value.data) == nullptr) {
            return reply::error(
                "WRONGTYPE Operation against a key holding the wrong kind of value");
        }
        if (into == nullptr) into = &db.insert(move_to_->key, std::make_unique<list_value>());
        std::string text = pop_end(list, from_);
        reply moved = reply::string(text);
        push_end(*get_if<list_value>(into->value.data), move_to_->end, std::move(text));
        if (list.empty()) db.erase(source);
        db.modified(key);
        db.modified(move_to_->key);
        core.key_may_be_ready(*into);
        return moved;
    }

    list_end from_;
    std::optional<target> move_to_;
};

// False: the caller may not wait, and is to be answered.
bool begin_wait(call& c, std::unique_ptr<list_wait> w) {
    if (!c.from.may_block || c.from.executing) return false;
    c.from.waiting = std::move(w);
    return true;
}

template <list_end End>
void blocking_pop(call& c) {
    const std::int64_t timeout = parse_timeout(c, c.count() - 1);
    for (std::size_t i = 1; i + 1 < c.count(); ++i) {
        list_value* l = c.look<list_value>(c.arg(i));
        if (l == nullptr) continue;
        c.out.array(2);
        c.out.string(c.arg(i));
        c.out.string(pop_end(*l, End));
        return c.changed(c.arg(i), *l);
    }
    auto w = std::make_unique<list_wait>(End, timeout);
    w->keys.assign(c.args.begin() + 1, c.args.end() - 1);
    if (!begin_wait(c, std::move(w))) c.out.nil_array();
}

void blocking_move(call& c, list_end from, list_end to, std::size_t timeout_at) {
    const std::int64_t timeout = parse_timeout(c, timeout_at);
    if (move_element(c, from, to)) return;
    auto w =
        std::make_unique<list_wait>(from, timeout, list_wait::target{std::string(c.arg(2)), to});
    w->keys.emplace_back(c.arg(1));
    if (!begin_wait(c, std::move(w))) c.out.nil();
}

void blmove(call& c) {
    const list_end from = parse_end(c, 3);
    const list_end to = parse_end(c, 4);
    blocking_move(c, from, to, 5);
}

void brpoplpush(call& c) {
    blocking_move(c, list_end::right, list_end::left, 3);
}

constexpr command_spec list_move_table[] = {
    {"lmove", 5, writes | grows, lmove},
    {"rpoplpush", 3, writes | grows, rpoplpush},
    {"blpop", -3, writes | no_script | blocks, blocking_pop<list_end::left>},
    {"brpop", -3, writes | no_script | blocks, blocking_pop<list_end::right>},
    {"blmove", 6, writes | grows | no_script | blocks, blmove},
    {"brpoplpush", 4, writes | grows | no_script | blocks, brpoplpush},
};

}  // namespace

std::span<const command_spec> list_move_commands() {
    return list_move_table;
}

}  // namespace holdfast::memory
