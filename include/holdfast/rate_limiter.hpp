// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/decision.hpp>
#include <holdfast/engine/command_access.hpp>
#include <holdfast/limit.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Rate limits that all machines share, by the server's time.
///
/// Each decision takes one trip, and none for a key that is known to be over its limit. A refused
/// request costs nothing. No client's clock matters. If the engine's clock is set back, limits are
/// stricter for as long as it was set back.
///
/// Example:
///
///     holdfast::rate_limiter api(hf, holdfast::token_bucket{.capacity = 100, .refill = 10});
///     auto answer = api.take("user/42");
///     if (!answer) return unavailable(answer.error());
///     if (!answer->allowed) return too_many(answer->retry_after);
namespace holdfast {

namespace detail {
class limiter_core;
}

/// What take() returns when the engine is down. Every such decision is counted.
enum class when_away : std::uint8_t {
    tell,        ///< The error: the caller decides.
    deny,        ///< Refused, retry after a second: protects the resource behind the limit.
    allow,       ///< Allowed: a limiter must not take the service down.
    local_share  ///< This process counts by itself, for a `local_share`-th of the limit.
};

struct rate_limiter_options {
    /// Before every key. The stored key also contains the kind of rule, and the limit's name if
    /// there are several: limiters that agree in all of these share a limit, all others do not.
    std::string prefix = "limit:";

    /// How long the engine may take to answer. A limiter delays every request, so it does not wait
    /// long.
    duration timeout = std::chrono::milliseconds(500);

    when_away away = when_away::tell;
    /// For when_away::local_share: how many processes share the limit. At least 1.
    std::uint32_t local_share = 1;
    /// After the engine failed, `away` decides for this long without asking it again; in a Cluster,
    /// for the keys of that server. (Not for `tell`, which always asks.)
    duration away_pause = std::chrono::milliseconds(100);

    /// How many keys this process caches: refusals, windows and blocks. 0: none. When there are
    /// more, one whose time is over is dropped, or any.
    std::size_t remembered_keys = 10'000;

    /// Take this many tokens from the engine at once, and spend them here without a trip; 0: each
    /// take asks the engine. In total never more than the limit is admitted: see the guide. Unspent
    /// tokens go back with return_blocks() or the limiter's destructor, unless their time is over.
    /// For token_bucket, fixed_window and strict sliding_counter.
    std::uint64_t block = 0;
    /// How long a block of a token bucket can be spent. What a bucket refills in this time cannot
    /// be burst: keep it short.
    duration block_life = std::chrono::milliseconds(100);
};

/// Counters since the limiter was made.
struct rate_limiter_statistics {
    std::uint64_t allowed = 0;         ///< Decisions that allowed, from any source,
    std::uint64_t refused = 0;         ///< … and that refused.
    std::uint64_t asked = 0;           ///< Trips to the engine.
    std::uint64_t together = 0;        ///< Allowed by a trip that served others too.
    std::uint64_t from_memory = 0;     ///< Refused without a trip.
    std::uint64_t from_block = 0;      ///< Allowed without a trip.
    std::uint64_t blocks = 0;          ///< Blocks taken,
    std::uint64_t given_back = 0;      ///< … and tokens of them that went back unspent.
    std::uint64_t away = 0;            ///< Times that the engine could not answer,
    std::uint64_t away_allowed = 0;    ///< … and the policy allowed,
    std::uint64_t away_refused = 0;    ///< … or refused.
    std::uint64_t remembered_now = 0;  ///< Keys cached in this process.
};

/// Thread safety: all members may be called from any thread.
class rate_limiter {
public:
    /// Does no I/O. The first call reports an invalid rule.
    rate_limiter(command_access where, limit_rule rule, rate_limiter_options options = {});

    /// Several limits at once: a take is allowed by all of them or takes from none. 1 to 16.
    rate_limiter(command_access where, std::vector<limit> limits,
                 rate_limiter_options options = {});

    rate_limiter(rate_limiter&&) noexcept;
    rate_limiter& operator=(rate_limiter&&) noexcept;

    /// Returns unspent blocks to the engine, and does not wait for the outcome.
    ~rate_limiter();

    /// Takes n, or refuses and takes nothing. `never` for more than there ever is.
    /// Errors: invalid_argument (n is 0, the key is no name, an invalid rule), unsupported,
    /// corrupt (the key holds something else, which is not changed); and unless `away` says
    /// otherwise unavailable, timed_out (not taken) and outcome_unknown (perhaps taken).
    /// Blocks: one trip, at most `timeout`.
    [[nodiscard]] result<decision> take(std::string_view key, std::uint64_t n = 1);

    /// Returns what take() would return now; takes nothing. Always asks the engine.
    /// Errors, Blocks: as take(), but `away` does not apply.
    [[nodiscard]] result<decision> peek(std::string_view key, std::uint64_t n = 1);

    /// Returns n that were taken and not used. Never more than was taken.
    /// Errors, Blocks: as peek().
    [[nodiscard]] result<decision> refund(std::string_view key, std::uint64_t n = 1);

    /// Takes n now for use after `delay`, if that is at most max_wait: this paces work with one
    /// trip and one sleep instead of retries. It looks ahead as far as max_wait, or 2^52 parts of a
    /// microsecond, of which a rate of 999,983 in 1 s needs 999,983 for each: 75 minutes. Rates
    /// that divide their period have no such bound.
    /// Errors, Blocks: as peek(), and unsupported for rules other than a single bucket.
    [[nodiscard]] result<decision> reserve(std::string_view key, std::uint64_t n,
                                           duration max_wait);

    /// The limits, as passed to the constructor; a single rule's name is "default".
    [[nodiscard]] const std::vector<limit>& limits() const noexcept;

    [[nodiscard]] rate_limiter_statistics statistics() const;

    /// Returns unspent blocks to the engine, and its outcome. Further takes start new blocks.
    /// Blocks: one trip, at most `timeout`.
    [[nodiscard]] result<void> return_blocks();

private:
    std::unique_ptr<detail::limiter_core> core_;
};

}  // namespace holdfast
