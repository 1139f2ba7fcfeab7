// SPDX-License-Identifier: Apache-2.0
//
// Keys whatever they hold: DEL, EXISTS, RENAME, KEYS and the like.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/engine_core.hpp"
#include "driver/memory/glob.hpp"

namespace holdfast::memory {
namespace {

void del(call& c) {
    std::int64_t removed = 0;
    for (std::size_t i = 1; i < c.count(); ++i) {
        key_node* n = c.db.find(c.arg(i));
        if (n == nullptr) continue;
        c.db.erase(*n);
        c.db.modified(c.arg(i));
        ++removed;
    }
    c.out.integer(removed);
}

void exists(call& c) {
    std::int64_t found = 0;
    for (std::size_t i = 1; i < c.count(); ++i) found += c.db.find(c.arg(i)) != nullptr ? 1 : 0;
    c.out.integer(found);
}

void type(call& c) {
    const key_node* n = c.db.find(c.arg(1));
    c.out.status(n == nullptr ? "none" : type_name(n->value.data));
}

// Moves value and expiry to the new name, over whatever was there. False: no such key.
bool move_key(call& c, bool over) {
    key_node* from = c.db.find(c.arg(1));
    if (from == nullptr) refuse("ERR no such key");
    if (c.arg(1) == c.arg(2)) return over;
    key_node* to = c.db.find(c.arg(2));
    if (to != nullptr && !over) return false;
    if (to != nullptr) c.db.erase(*to);
    value data = std::move(from->value.data);
    const std::int64_t expires = from->value.expires_ms;
    c.db.erase(*from);
    key_node& placed = c.db.insert(c.arg(2), std::move(data));
    if (expires != no_expiry) c.db.set_expiry(placed, expires);
    c.db.modified(c.arg(1));
    c.db.modified(c.arg(2));
    c.core.key_may_be_ready(placed);
    return true;
}

void rename(call& c) {
    move_key(c, true);
    c.out.ok();
}

void renamenx(call& c) {
    c.out.integer(move_key(c, false) ? 1 : 0);
}

void keys(call& c) {
    const bool all = c.arg(1) == "*";  // not even a pattern: the empty key is among them
    std::vector<std::string_view> found;
    for (const key_node* n = c.db.keys().first(); n != nullptr; n = n->after) {
        if (c.db.expired(*n)) continue;
        if (all || glob_match(c.arg(1), n->key)) found.push_back(n->key);
    }
    c.out.array(found.size());
    for (const std::string_view key : found) c.out.string(key);
}

void dbsize(call& c) {
    c.out.integer(static_cast<std::int64_t>(c.db.size()));
}

void flush(call& c) {
    if (c.count() > 2 || (c.count() == 2 && !c.is(1, "async") && !c.is(1, "sync"))) {
        refuse_syntax();
    }
    c.db.clear();
    c.out.ok();
}

void randomkey(call& c) {
    while (c.db.size() > 0) {
        key_node& n = c.db.keys().random(c.core.chance());
        if (c.db.find(n.key) != nullptr) return c.out.string(n.key);
    }
    c.out.nil();
}

constexpr command_spec key_table[] = {
    {"del", -2, writes, del},
    {"unlink", -2, writes | fast_path, del},
    {"exists", -2, reads | fast_path, exists},
    {"touch", -2, reads | fast_path, exists},
    {"type", 2, reads | fast_path, type},
    {"rename", 3, writes, rename},
    {"renamenx", 3, writes | fast_path, renamenx},
    {"keys", 2, reads, keys},
    {"dbsize", 1, reads | fast_path, dbsize},
    {"flushall", -1, writes, flush},
    {"flushdb", -1, writes, flush},
    {"randomkey", 1, reads, randomkey},
};

}  // namespace

std::span<const command_spec> key_commands() {
    return key_table;
}

}  // namespace holdfast::memory
