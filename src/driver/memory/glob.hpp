// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Redis's patterns: `*`, `?`, `[a-z]`, `[^a]`, `\x`.
namespace holdfast::memory {

/// As in Redis, nothing but the empty pattern matches the empty text; commands that take `*` for
/// "all" look for that themselves.
///
/// Bounded: a pattern with many stars costs at most pattern × text steps, not their power.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text) noexcept;

}  // namespace holdfast::memory
