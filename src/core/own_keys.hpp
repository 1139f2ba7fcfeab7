// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The Redis keys that Holdfast chooses itself: nobody's name or key may be one of them.
///
/// They all begin with a brace or with `holdfast:`. How they are put together is in
/// engine/redis/lease_keys.hpp; which ones a caller must not use is decided here, for locks and for
/// traffic control alike.
namespace holdfast {

inline constexpr std::string_view own_prefix = "holdfast:";
inline constexpr std::string_view fence_name = "holdfast:fence";
inline constexpr std::string_view boot_name = "holdfast:boot";
inline constexpr std::string_view client_prefix = "holdfast:client:";

/// How the keys beside a lock end, and what is kept beside a guarded value.
inline constexpr std::string_view line_end = ":line";
inline constexpr std::string_view waiters_end = ":waiters";
inline constexpr std::string_view evicted_end = ":evicted";
inline constexpr std::string_view holders_end = ":holders";
inline constexpr std::string_view limit_end = ":limit";
inline constexpr std::string_view note_end = ":note";
inline constexpr std::string_view guard_end = ":fence";
inline constexpr std::string_view guard_last_end = ":fence:last";

/// Does it look like a key beside a lock, or beside a guarded value?
[[nodiscard]] bool is_side_key(std::string_view key) noexcept;

/// Is it one of the keys that belong to no name?
[[nodiscard]] bool is_shared_key(std::string_view key) noexcept;

/// Can any text behind this prefix make one of these keys? With most prefixes none can.
[[nodiscard]] bool may_make_own_keys(std::string_view prefix) noexcept;

}  // namespace holdfast
