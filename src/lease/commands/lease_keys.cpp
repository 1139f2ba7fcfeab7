// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/lease_keys.hpp"

#include "core/hash_slot.hpp"

#include <fmt/format.h>

#include <vector>

namespace holdfast {

using detail::text_arena;

namespace {

// What is computed for a slot, once for all.
struct slot_texts {
    std::string tag;
    std::string fence;
    std::string boot;
};

const slot_texts& texts_of(unsigned slot) {
    static const std::vector<slot_texts> all = [] {
        std::vector<slot_texts> made(slot_count);
        std::size_t missing = slot_count;
        for (unsigned number = 0; missing > 0; ++number) {
            std::string tag = std::to_string(number);
            slot_texts& here = made[hash_slot(tag)];
            if (!here.tag.empty()) continue;
            here.fence = fmt::format("{{{}}}{}", tag, fence_name);
            here.boot = fmt::format("{{{}}}{}", tag, boot_name);
            here.tag = std::move(tag);
            --missing;
        }
        return made;
    }();
    return all[slot];
}

}  // namespace

const std::string& slot_tag(unsigned slot) {
    return texts_of(slot).tag;
}

std::string_view lock_key(text_arena& room, std::string_view prefix, const lock_name& name) {
    return room.put({prefix, name.value()});
}

std::string_view fence_key(std::string_view lock, key_scope scope) {
    return scope == key_scope::server ? fence_name : texts_of(hash_slot(lock)).fence;
}

std::string_view boot_key(std::string_view lock, key_scope scope) {
    return scope == key_scope::server ? boot_name : texts_of(hash_slot(lock)).boot;
}

std::string_view key_beside(text_arena& room, std::string_view key, std::string_view end) {
    if (key.find('}') == std::string_view::npos) return room.put({"{", key, "}", end});
    return room.put({"{", slot_tag(hash_slot(key)), "}", key, end});
}

std::string_view holders_key(text_arena& room, std::string_view lock) {
    return key_beside(room, lock, holders_end);
}

std::string_view limit_key(text_arena& room, std::string_view lock) {
    return key_beside(room, lock, limit_end);
}

std::string_view evicted_key(text_arena& room, std::string_view lock) {
    return key_beside(room, lock, evicted_end);
}

std::string_view waiter_key(text_arena& room, std::string_view waiters, std::string_view owner) {
    return room.put({waiters, ":", owner});
}

std::string_view notes_key(text_arena& room, std::string_view lock) {
    return key_beside(room, lock, note_end);
}

std::string_view note_key(text_arena& room, std::string_view notes, std::string_view owner) {
    return room.put({notes, ":", owner});
}

lease_keys keys_of(text_arena& room, std::string_view prefix, const lock_name& name,
                   key_scope scope) {
    return keys_of(room, lock_key(room, prefix, name), scope);
}

lease_keys keys_of(text_arena& room, std::string_view lock, key_scope scope) {
    lease_keys keys;
    keys.lock = lock;
    keys.line = key_beside(room, keys.lock, line_end);
    keys.waiters = key_beside(room, keys.lock, waiters_end);
    keys.evicted = evicted_key(room, keys.lock);
    keys.holders = holders_key(room, keys.lock);
    keys.limit = limit_key(room, keys.lock);
    keys.fence = fence_key(keys.lock, scope);
    keys.boot = boot_key(keys.lock, scope);
    return keys;
}

}  // namespace holdfast
