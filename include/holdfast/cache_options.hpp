// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

/// What can be said about a cache, and what it tells of itself.
namespace holdfast {

/// When to stop asking what does not answer.
struct breaker_options {
    /// So many failures in a row open it. 1 to 1,000,000.
    int failures = 5;
    /// How long it stays open at first; doubles with each failed try …
    duration pause = std::chrono::milliseconds(500);
    /// … up to this.
    duration pause_max = std::chrono::seconds(10);
};

enum class breaker_state : std::uint8_t { closed, open, half_open };

/// A value past its soft expiry is …
enum class stale_policy : std::uint8_t {
    serve,  ///< … answered at once, while one caller (or the background) loads it anew.
    wait    ///< … not answered: callers wait for the load.
};

/// A load failed, and there is a stale value.
enum class failure_policy : std::uint8_t {
    serve_stale,  ///< Answer that.
    fail          ///< Answer the error.
};

struct cache_options {
    /// Before every key: `news_article:` and the key `42` make the Redis key `news_article:42`.
    std::string prefix = "cache:";

    /// The soft expiry: how long a value is fresh. The jitter is drawn from zero to `jitter` and
    /// added, so that what was stored together does not expire together.
    duration fresh = std::chrono::hours(1);
    duration jitter = std::chrono::seconds(300);

    /// The hard expiry comes this much later: until then a value can be answered while it is
    /// refreshed, or while the source fails.
    duration stale = std::chrono::minutes(10);

    /// How long it is remembered that the source has nothing. Short, because a source rarely tells
    /// a cache that something came to be.
    duration absent = std::chrono::seconds(60);

    /// Refreshes begin a little before the soft expiry, the earlier the longer a load takes
    /// (XFetch's beta). 0: never early.
    double early = 1.0;

    stale_policy when_stale = stale_policy::serve;
    failure_policy on_failure = failure_policy::serve_stale;

    /// The longest a load may take. A loader that dies blocks its key for as long; what is loaded
    /// after it is answered to the caller and not stored.
    duration lease = std::chrono::seconds(10);

    /// How long a caller waits for another one's load.
    duration wait = std::chrono::seconds(5);

    /// How long the engine may take to answer.
    duration timeout = std::chrono::seconds(1);

    /// The copy in the process: at most this many bytes, keys and bookkeeping counted. 0: none.
    std::size_t local_bytes = 0;
    /// The bound on its staleness: no copy is older. A copy is dropped when its key changes: one
    /// Redis (6.2 and later) tells it, whoever changed the key; elsewhere the caches tell each
    /// other. No copy answers any more when the server cannot be heard. This is for what is told
    /// late, and for what others than caches write where the server does not tell.
    duration local_life = std::chrono::seconds(1);

    /// While the engine is away, a copy in the process is answered up to this age …
    duration away_stale = std::chrono::seconds(60);
    /// … and so many loads a second reach the source, per process. The rest is `unavailable`.
    double away_loads_per_second = 10;

    breaker_options engine_breaker{};
    breaker_options source_breaker{};

    /// A larger value is `invalid_argument`.
    std::size_t max_value_bytes = std::size_t{16} << 20;

    /// update(): how often the deletion is tried, and the pause before the second try; it doubles.
    int delete_attempts = 3;
    duration delete_pause = std::chrono::milliseconds(20);
    /// When a pending invalidation is worked off by another process: longer than a write takes.
    duration pending_after = std::chrono::seconds(10);
};

/// Counted since the cache was made, in this process.
struct cache_statistics {
    std::uint64_t local_hits = 0;      ///< Answered by the copy in the process.
    std::uint64_t hits = 0;            ///< Answered by the engine, fresh.
    std::uint64_t stale_hits = 0;      ///< Answered by a stale value.
    std::uint64_t misses = 0;          ///< Nothing was cached.
    std::uint64_t loads = 0;           ///< Loads that were begun.
    std::uint64_t failed_loads = 0;    ///< … and that failed.
    std::uint64_t refused_stores = 0;  ///< Loaded, but voided by an invalidation meanwhile.
    std::uint64_t waits = 0;           ///< Callers that waited for another one's load.
    std::uint64_t away_loads = 0;      ///< Loads while the engine was away.
    std::uint64_t away_refused = 0;    ///< … and callers that were refused by the limit on these.
    std::uint64_t invalidations = 0;
    std::uint64_t local_bytes = 0;
    std::uint64_t local_entries = 0;
    bool local_tracked = false;       ///< The server itself tells of each change of a key.
    std::uint64_t engine_opened = 0;  ///< How often the engine's breaker opened.
    std::uint64_t source_opened = 0;
    breaker_state engine = breaker_state::closed;
    breaker_state source = breaker_state::closed;
};

}  // namespace holdfast
