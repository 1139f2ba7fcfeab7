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
    std::string side;
    if (!hash_tag(keys.lock).empty()) {
        side = keys.lock;
    } else if (keys.lock.find('}') == std::string::npos) {
        side = "{" + keys.lock + "}";
    } else {
        side = "{" + tag_for(hash_slot(keys.lock)) + "}" + keys.lock;
    }
    keys.line = side + ":line";
    keys.waiters = side + ":waiters";
    return keys;
}

}  // namespace holdfast
