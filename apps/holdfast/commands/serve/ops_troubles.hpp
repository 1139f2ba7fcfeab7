// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/serve/ops_view.hpp"

#include <string>
#include <string_view>
#include <vector>

/// What is broken, in words, with what to do about it: decided from what an operator sees.
///
/// Among them the three cases that every operator of live push meets: all messages are skipped as
/// duplicates, a room is always in cooldown, a lock cannot be had.
namespace holdfast::app {

struct trouble {
    enum class level : std::uint8_t { note, warning, broken };
    level weight;
    /// A stable word: engine, no_consumer, duplicates, cooldown, lock, failures, slow_viewers,
    /// lost_leases, unsafe.
    std::string kind;
    std::string room;   ///< Empty: it is about no room.
    std::string title;  ///< One sentence: what is so.
    std::string text;   ///< Why, with the figures.
    std::string fix;    ///< What to do.
};

/// The worst first. Requires: view.rooms is bounded, as its maker bounds it.
[[nodiscard]] std::vector<trouble> find_troubles(const ops_view& view);

[[nodiscard]] std::string_view to_string(trouble::level weight) noexcept;

}  // namespace holdfast::app
