// SPDX-License-Identifier: Apache-2.0
//
// MULTI, EXEC, DISCARD, WATCH, UNWATCH.
//
// A watched key aborts EXEC if a command changed it, or if it was there and has expired since.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/engine_core.hpp"

#include <algorithm>

namespace holdfast::memory {
namespace {

void multi(call& c) {
    if (c.from.in_multi) refuse("ERR MULTI calls can not be nested");
    c.from.in_multi = true;
    c.out.ok();
}

void discard(call& c) {
    if (!c.from.in_multi) refuse("ERR DISCARD without MULTI");
    c.from.end_transaction();
    c.core.unwatch(c.from);
    c.out.ok();
}

void watch(call& c) {
    if (c.from.in_multi) refuse("ERR WATCH inside MULTI is not allowed");
    for (std::size_t i = 1; i < c.count(); ++i) {
        const std::string_view key = c.arg(i);
        const auto same = [&](const connection::watched_key& w) { return w.key == key; };
        if (std::ranges::any_of(c.from.watched, same)) continue;
        c.from.watched.push_back({std::string(key), c.db.find(key) != nullptr});
        c.db.watch(key, c.from.changes);
    }
    c.out.ok();
}

void unwatch(call& c) {
    c.core.unwatch(c.from);
    c.out.ok();
}

bool watched_changed(call& c) {
    if (c.from.changes.touched) return true;
    return std::ranges::any_of(c.from.watched, [&](const connection::watched_key& w) {
        return w.existed && c.db.find(w.key) == nullptr;
    });
}

void exec(call& c) {
    if (!c.from.in_multi) refuse("ERR EXEC without MULTI");
    const bool failed = c.from.multi_failed;
    const bool changed = watched_changed(c);
    const auto queued = std::move(c.from.queued);
    c.from.end_transaction();
    c.core.unwatch(c.from);
    if (failed) refuse("EXECABORT Transaction discarded because of previous errors.");
    if (changed) return c.out.nil_array();
    c.out.array(queued.size());
    c.from.executing = true;
    std::vector<std::string_view> words;
    for (const auto& q : queued) {
        words.assign(q.words.begin(), q.words.end());
        c.core.run(*q.spec, c.from, words, c.out);
    }
    c.from.executing = false;
}

constexpr command_spec transaction_table[] = {
    {"multi", 1, no_script | at_once | fast_path, multi},
    {"exec", 1, no_script | at_once, exec},
    {"discard", 1, no_script | at_once | fast_path, discard},
    {"watch", -2, no_script | at_once | fast_path, watch},
    {"unwatch", 1, no_script | fast_path, unwatch},
};

}  // namespace

std::span<const command_spec> transaction_commands() {
    return transaction_table;
}

}  // namespace holdfast::memory
