// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/// The decision of a limiter: yes or no, and when to retry.
///
/// "No" is an answer, not an error: it contains the time to wait. An error means that there is no
/// answer.
namespace holdfast {

/// What decided.
enum class decided_by : std::uint8_t {
    engine,  ///< The engine was asked.
    memory,  ///< A cached refusal of this process, whose time is not over. No trip.
    block,   ///< A block of tokens that this process took before. No trip.
    policy   ///< The engine is down: by `when_away`.
};

[[nodiscard]] std::string_view to_string(decided_by who) noexcept;

struct decision {
    /// Waiting does not help: the request can never be allowed.
    static constexpr duration never = duration::max();

    bool allowed = false;
    /// How many may be taken at once, from rest.
    std::uint64_t limit = 0;
    /// How many are left now.
    std::uint64_t remaining = 0;
    /// For a refusal: how long until the same request would be allowed if nobody else takes any;
    /// `never` if it asks for more than there ever is. Zero if it was allowed.
    duration retry_after{};
    /// How long until the whole limit is available again, if nobody takes any.
    duration reset_after{};
    /// For reserve() and the leaky bucket: how long to wait before you go. Zero everywhere else.
    duration delay{};
    /// Of several limits, the name of the one that these numbers belong to: the one with the
    /// longest wait, or if all allow, the one with the smallest share left.
    std::string binding{};
    decided_by source = decided_by::engine;

    explicit operator bool() const noexcept { return allowed; }
};

}  // namespace holdfast
