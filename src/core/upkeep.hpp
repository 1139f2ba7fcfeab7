// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Who lets the background of a client run.
///
/// The keeper, the async driver and the reporter are loops of small steps that never wait for
/// anybody. A client runs each on a thread of its own. A simulation has one thread for all: it
/// calls step() whenever something happened, and at the moment that the last step named.
namespace holdfast::detail {

enum class upkeep : std::uint8_t { threads, by_hand };

}  // namespace holdfast::detail
