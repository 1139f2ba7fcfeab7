// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <string>
#include <variant>

/// The rules of rate limits: how many, in how long, and how they are counted.
///
/// | rule             | in any window at most   | memory per key   | use it for                   |
/// |------------------|-------------------------|------------------|------------------------------|
/// | fixed_window     | 2 x limit               | one number       | quotas; the cheapest         |
/// | sliding_log      | limit, exactly          | each request     | small limits that are exact  |
/// | sliding_counter  | limit (strict), never   | parts + 3        | "at most n per minute" that  |
/// |                  | more; less by one part  | numbers          | must hold; any size          |
/// |   … unbiased     | limit for steady        | the same         | the same, generous           |
/// |                  | traffic, else 2 x limit |                  |                              |
/// | token_bucket     | capacity + rate x time  | one number       | rates with bursts: APIs      |
/// | leaky_bucket     | rate x time + 1         | one number       | an even flow: work queues    |
///
/// Amounts are 1 to 1,000,000,000; times are 1 ms to 366 days.
namespace holdfast {

/// A counter that starts with the first take and ends with its window. Two bursts around the end of
/// a window may make twice the limit in one window's time.
struct fixed_window {
    std::uint64_t limit = 0;
    duration window{};  ///< Rounded up to whole milliseconds.
};

/// Stores every take of the last window: exact. At most 100,000, because each is stored.
struct sliding_log {
    std::uint64_t limit = 0;
    duration window{};
};

enum class counting : std::uint8_t {
    strict,   ///< Never more than the limit in any window. Conservative by at most one part.
    unbiased  ///< The oldest part counts by the share that is still inside the window.
};

/// Counts in parts of the window.
struct sliding_counter {
    std::uint64_t limit = 0;
    duration window{};
    counting mode = counting::strict;
    /// More parts are more exact: strict is conservative by at most window / parts. 1 to 100. The
    /// classical two-window estimate is `unbiased` with one part.
    std::uint32_t parts = 10;
};

/// A bucket that is full at rest and is refilled steadily: `refill` tokens in each `period`.
struct token_bucket {
    std::uint64_t capacity = 0;  ///< Tokens after a rest: the largest burst.
    std::uint64_t refill = 0;
    duration period = std::chrono::seconds(1);
};

/// A queue that drains at an even rate: one each `period / drain`. Each allowed request gets its
/// time by `decision::delay`; when `queue` requests wait already, the next one is refused.
struct leaky_bucket {
    std::uint64_t drain = 0;
    duration period = std::chrono::seconds(1);
    std::uint64_t queue = 0;
};

using limit_rule =
    std::variant<fixed_window, sliding_log, sliding_counter, token_bucket, leaky_bucket>;

/// A rule with a name, for several limits at once. The name is part of the key and of the
/// RateLimit header: 1 to 64 of A-Z a-z 0-9 . _ -
struct limit {
    std::string name;
    limit_rule rule;
};

/// Errors: invalid_argument; the detail names the field and what it takes.
[[nodiscard]] result<void> check(const limit_rule& rule);

/// Returns how many may be taken at once after a rest.
[[nodiscard]] std::uint64_t capacity_of(const limit_rule& rule) noexcept;

/// Returns the time that the capacity belongs to: the window, or the time to fill an empty bucket.
[[nodiscard]] duration window_of(const limit_rule& rule) noexcept;

}  // namespace holdfast
