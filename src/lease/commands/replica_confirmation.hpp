// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/lease_store.hpp>

#include <fmt/format.h>

#include <string_view>
#include <variant>

/// Which answers count only when replicas have confirmed them, and what is said of those that they
/// did not confirm.
namespace holdfast {

/// Nothing depends on the replicas knowing of an end: without them the lease runs out.
[[nodiscard]] inline bool must_be_confirmed(const lease_reply& meant) noexcept {
    return std::holds_alternative<answer::granted>(meant) ||
           std::holds_alternative<answer::renewed>(meant);
}

/// Whoever asked has to ask again or to leave: the master may go on thinking that it is granted. A
/// leave from here could come late, and end a later grant.
[[nodiscard]] inline result<lease_reply> unconfirmed(const lock_name& name, std::string_view why) {
    return fail(errc::outcome_unknown, fmt::format("'{}': {}", name.value(), why));
}

}  // namespace holdfast
