// SPDX-License-Identifier: Apache-2.0
//
// A write: note it, write the source, delete the entry, remove the note. Every step may be the last
// one that this process does; what the note is for is in pending_invalidations.hpp.
#include "cache/cache_core.hpp"
#include "command/script_call.hpp"
#include "core/validity.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <exception>
#include <utility>

namespace holdfast::detail {
namespace {

void pause_for(clock& time, duration span) {
    std::mutex mutex;
    std::condition_variable never;
    const time_point until = later(time.now(), span);
    std::unique_lock held(mutex);
    while (time.now() < until) time.wait_until(held, never, until);
}

}  // namespace

void cache_core::forget(std::string_view key) {
    local_.erase(key);
    std::uint32_t tag = 0;
    warm_slot(key, tag).store(0, std::memory_order_relaxed);
}

result<bool> cache_core::invalidate(std::string_view key) {
    if (auto fit = check(key); !fit) return std::unexpected(std::move(fit.error()));
    counted_.invalidations.fetch_add(1, std::memory_order_relaxed);
    auto gone = entries_.invalidate(key, give_up());
    static_cast<void>(answered(gone));
    forget(key);  // after: a copy that was fetched meanwhile goes too
    return gone;
}

result<void> cache_core::put(std::string_view key, const std::optional<std::string>& value) {
    if (auto fit = check(key); !fit) return fit;
    if (value && value->size() > options_.max_value_bytes) {
        return fail(errc::invalid_argument,
                    fmt::format("the value of '{}' has {} bytes: at most {} are cached", key,
                                value->size(), options_.max_value_bytes));
    }
    const auto spread = static_cast<std::uint64_t>(options_.jitter.count()) + 1;
    const duration jitter(static_cast<std::int64_t>(where_.chance().below(spread)));
    const duration fresh = value ? options_.fresh + jitter : options_.absent;
    const entry_value what{.kind = value ? entry_kind::value : entry_kind::absent,
                           .value = value ? std::string_view(*value) : std::string_view(),
                           .fresh = fresh,
                           .life = fresh + (value ? options_.stale : duration::zero()),
                           .took = duration::zero()};
    const auto kept = entries_.store(key, {}, what, give_up());
    static_cast<void>(answered(kept));
    forget(key);
    if (!kept) return std::unexpected(kept.error());
    learn_time(kept->server_us);
    return {};
}

result<update_outcome> cache_core::update(std::string_view key,
                                          const std::function<result<void>()>& write) {
    if (auto fit = check(key); !fit) return std::unexpected(std::move(fit.error()));
    auto next = next_work_off_.load(std::memory_order_relaxed);
    const time_point soon = later(now(), options_.pending_after / 4);
    if (now().time_since_epoch().count() >= next &&
        next_work_off_.compare_exchange_strong(next, soon.time_since_epoch().count())) {
        static_cast<void>(work_off());
    }
    result<std::string> note = fail(errc::unavailable, "the engine is away");
    if (engine_.allows(now())) {
        note = pending_.note(key, options_.pending_after, give_up());
    }
    result<void> written;
    try {
        written = write();
    } catch (...) {
        static_cast<void>(invalidate(key));
        throw;
    }
    bool gone = false;
    duration pause = options_.delete_pause;
    for (int n = 0; n < options_.delete_attempts && !gone; ++n) {
        if (n > 0) {
            pause_for(where_.engine()->time(), pause);
            pause *= 2;
        }
        gone = invalidate(key).has_value();
    }
    if (gone && note) pending_.remove_soon(*note, give_up());
    if (!written) return std::unexpected(std::move(written.error()));
    if (gone) return update_outcome::deleted;
    const bool kept_here = pending_.keep_local(key);
    return note || kept_here ? update_outcome::pending : update_outcome::lost;
}

result<std::size_t> cache_core::work_off() {
    if (auto fit = check_place(where_); !fit) return std::unexpected(std::move(fit.error()));
    if (!engine_.allows(now())) return fail(errc::unavailable, "the engine is away");
    std::size_t count = 0;
    for (const auto& key : pending_.local()) {
        if (auto gone = invalidate(key); !gone) return std::unexpected(std::move(gone.error()));
        pending_.drop_local(key);
        ++count;
    }
    auto due = pending_.take(options_.pending_after, give_up());
    if (!due) return std::unexpected(std::move(due.error()));
    for (const auto& note : *due) {
        const auto key = pending_invalidations::key_of(note);
        if (check(key)) {
            if (auto gone = invalidate(key); !gone) return std::unexpected(std::move(gone.error()));
            ++count;
        }
        if (auto done = pending_.remove(note, give_up()); !done) {
            return std::unexpected(std::move(done.error()));
        }
    }
    return count;
}

cache_statistics cache_core::statistics() const {
    const auto read = [](const std::atomic<std::uint64_t>& from) {
        return from.load(std::memory_order_relaxed);
    };
    const time_point at = where_.engine() == nullptr ? time_point{} : now();
    return {.local_hits = read(counted_.local_hits),
            .hits = read(counted_.hits),
            .stale_hits = read(counted_.stale_hits),
            .misses = read(counted_.misses),
            .loads = read(counted_.loads),
            .failed_loads = read(counted_.failed_loads),
            .refused_stores = read(counted_.refused_stores),
            .waits = read(counted_.waits),
            .away_loads = read(counted_.away_loads),
            .away_refused = read(counted_.away_refused),
            .invalidations = read(counted_.invalidations),
            .local_bytes = local_.bytes(),
            .local_entries = local_.entries(),
            .local_tracked = tracking_.load(std::memory_order_relaxed),
            .engine_opened = engine_.opened(),
            .source_opened = source_.opened(),
            .engine = engine_.state(at),
            .source = source_.state(at)};
}

}  // namespace holdfast::detail
