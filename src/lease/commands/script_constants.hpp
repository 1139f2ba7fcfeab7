// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Numbers that the lease scripts and the C++ must agree on, and the codes that the scripts answer.
///
/// A script writes `constant.slack_ms` or `code.busy`, and the build puts the number there
/// (cmake/EmbedLua.cmake): it reads the lines `inline constexpr std::int64_t name = digits;` of
/// this file and of core/lease_bounds.hpp. A name that is in neither stops the build.
namespace holdfast::constant {

/// How much longer than its lease a marked lock stays: see queue.lua.
inline constexpr std::int64_t slack_ms = 3000;

/// Every counter starts from the time of day in microseconds: one below this was lost.
inline constexpr std::int64_t least_fence = 1'600'000'000'000'000;

/// The default of command_lease_options::claim, for which release.lua has a short cut …
inline constexpr std::int64_t usual_claim_ms = 2000;
/// … that makes no text of this sum.
inline constexpr std::int64_t usual_claim_and_slack_ms = 5000;
static_assert(usual_claim_and_slack_ms == usual_claim_ms + slack_ms);

/// For how long the fence counter, a limit that was changed, and what is known of a server are kept
/// after their last use.
inline constexpr std::int64_t counter_life_ms = 604'800'000;
inline constexpr std::int64_t limit_life_ms = 604'800'000;
inline constexpr std::int64_t boot_life_ms = 31'536'000'000;

}  // namespace holdfast::constant

namespace holdfast::code {

// acquire.lua
inline constexpr std::int64_t busy = 0;
inline constexpr std::int64_t granted = 1;
inline constexpr std::int64_t line_full = 2;
inline constexpr std::int64_t quarantined = 3;
inline constexpr std::int64_t other_mode = 4;
inline constexpr std::int64_t few_permits = 5;
inline constexpr std::int64_t nothing_to_share = 6;

// … and behind other_mode, why.
inline constexpr std::int64_t shares_it = 1;
inline constexpr std::int64_t held_by_permits = 2;
inline constexpr std::int64_t held_otherwise = 3;

// renew.lua, renew_share.lua, renew_above.lua
inline constexpr std::int64_t lost = 0;
inline constexpr std::int64_t renewed = 1;
inline constexpr std::int64_t renewed_contended = 2;
inline constexpr std::int64_t floor_too_far = 3;

// release.lua, release_only.lua, leave.lua, release_free.lua, release_free_all.lua; the number of
// keys that DEL removed is answered as it is.
inline constexpr std::int64_t not_held = 0;
inline constexpr std::int64_t released = 1;
inline constexpr std::int64_t contended = 2;

// adopt.lua
inline constexpr std::int64_t adopted = 1;

// guarded_set.lua, guarded_claim.lua
inline constexpr std::int64_t fence_too_small = 0;
inline constexpr std::int64_t fence_taken = 1;

}  // namespace holdfast::code
