// SPDX-License-Identifier: Apache-2.0
#include "engine/redis/lease_keys.hpp"

#include "core/hash_slot.hpp"

namespace holdfast {
namespace {

// A short text that hashes to the slot. About 16384 tries, and only for names with stray braces.
std::string tag_for(unsigned slot) {
    for (unsigned number = 0;; ++number) {
        std::string text = std::to_string(number);
        if (hash_slot(text) == slot) return text;
    }
}

}  // namespace

lease_keys keys_of(std::string_view prefix, const lock_name& name) {
    lease_keys keys;
    keys.lock.reserve(prefix.size() + name.value().size());
    keys.lock.append(prefix).append(name.value());
    // Appended, not added: one allocation each, on the way of every acquire.
    const auto beside = [&](std::string_view tag, std::string_view rest, std::string_view end) {
        std::string key;
        key.reserve(tag.size() + rest.size() + end.size() + 2);
        if (!tag.empty()) key.append("{").append(tag).append("}");
        return key.append(rest).append(end);
    };
    std::string tag;
    std::string_view rest;
    if (!hash_tag(keys.lock).empty()) {
        rest = keys.lock;
    } else if (keys.lock.find('}') == std::string::npos) {
        tag = keys.lock;
    } else {
        tag = tag_for(hash_slot(keys.lock));
        rest = keys.lock;
    }
    keys.line = beside(tag, rest, ":line");
    keys.waiters = beside(tag, rest, ":waiters");
    return keys;
}

}  // namespace holdfast
