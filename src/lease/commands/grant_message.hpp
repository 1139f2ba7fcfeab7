// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/lease_store.hpp>

#include <optional>
#include <string_view>

/// The text by which a server tells a waiter of its grant: "owner fence claim_ms", as queue.lua
/// sends it.
namespace holdfast {

/// Nothing, if it is not one.
[[nodiscard]] std::optional<handed_off> parse_grant(std::string_view text);

/// "owner evicted reason", as evict.lua sends it.
[[nodiscard]] std::optional<evicted> parse_eviction(std::string_view text);

}  // namespace holdfast
