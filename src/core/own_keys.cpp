// SPDX-License-Identifier: Apache-2.0
#include "core/own_keys.hpp"

#include <holdfast/names.hpp>

#include <algorithm>
#include <array>

namespace holdfast {

bool is_side_key(std::string_view key) noexcept {
    if (!key.starts_with('{')) return false;
    // A waiter's key ends with its owner, and so does a holder's note.
    const std::size_t colon = key.rfind(':');
    if (owner_token::parse(key.substr(colon + 1))) key = key.substr(0, colon);
    constexpr std::array ends{line_end,    waiters_end, holders_end, limit_end,
                              evicted_end, note_end,    guard_end,   guard_last_end};
    return std::ranges::any_of(ends, [&](std::string_view end) { return key.ends_with(end); });
}

bool is_shared_key(std::string_view key) noexcept {
    if (key.starts_with('{')) key.remove_prefix(std::min(key.find('}'), key.size() - 1) + 1);
    return key == fence_name || key == boot_name || key.starts_with(client_prefix);
}

bool may_make_own_keys(std::string_view prefix) noexcept {
    return prefix.starts_with('{') || prefix.starts_with(own_prefix) ||
           own_prefix.starts_with(prefix);
}

}  // namespace holdfast
