// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/// The answer of everything that limits: yes or no, and what there is to know about the next time.
///
/// "No" is an answer, not an error: it says how long to wait. An error means that there is no
/// answer.
namespace holdfast {

/// Who decided.
enum class decided_by : std::uint8_t {
    engine,  ///< The engine was asked.
    memory,  ///< This process remembered an earlier no, whose time is not over. No trip.
    block,   ///< A block of tokens that this process had taken before. No trip.
    policy   ///< The engine is away: what `when_away` says.
};

[[nodiscard]] std::string_view to_string(decided_by who) noexcept;

struct decision {
    /// A wait that does not help: what was asked for can never be allowed.
    static constexpr duration never = duration::max();

    bool allowed = false;
    /// How many may be taken at once, from rest.
    std::uint64_t limit = 0;
    /// How many are left now.
    std::uint64_t remaining = 0;
    /// If it was refused: how long until the same would be allowed if nobody else takes any;
    /// `never` if it asks for more than there ever is. Zero if it was allowed.
    duration retry_after{};
    /// How long until all of the limit is there again, if nobody takes any.
    duration reset_after{};
    /// For reserve() and the leaky bucket: how long to wait before you go. Zero everywhere else.
    duration delay{};
    /// Of several limits, the name of the one that these numbers are of: the one that makes you
    /// wait longest, or if all allow, the one with the smallest share left.
    std::string binding{};
    decided_by source = decided_by::engine;

    explicit operator bool() const noexcept { return allowed; }
};

}  // namespace holdfast
