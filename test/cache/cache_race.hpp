// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/cache_entries.hpp"
#include "cache/pending_invalidations.hpp"
#include "driver/memory/memory_engine.hpp"

#include <holdfast/virtual_clock.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

/// Readers, loaders and writers of one cache, trip by trip, in any order, dying anywhere.
///
/// A round is replayed by its seed. Actors are little state machines; the seed says whose turn it
/// is, who dies before its next step, and how much time passes. When nobody has anything left to
/// do, what was left pending is worked off, and the round is judged.
namespace holdfast::test {

enum class race_bug : std::uint8_t {
    none,
    store_ignores_the_lease,       ///< A late load is stored, whatever happened meanwhile.
    invalidation_keeps_the_lease,  ///< A deletion that leaves the loader its lease.
    lease_without_expiry,          ///< A loader that dies leaves its key for ever.
    everybody_loads,               ///< The lease is not respected.
    delete_before_the_write,       ///< The writer's two steps are swapped.
    no_note                        ///< A writer that dies is forgotten.
};

struct race_report {
    std::uint64_t rounds = 0;
    std::uint64_t loads = 0;
    std::uint64_t refused = 0;
    std::uint64_t deaths = 0;
    std::uint64_t stale = 0;        ///< Cached, and not what the source has.
    std::uint64_t eternal = 0;      ///< Without an expiry.
    std::uint64_t overlapping = 0;  ///< Loaded although another one had the lease.
    std::uint64_t first_bad_seed = 0;

    [[nodiscard]] std::uint64_t violations() const { return stale + eternal + overlapping; }
};

class cache_race {
public:
    explicit cache_race(race_bug bug);
    ~cache_race();

    /// Plays the rounds of seeds `first` to `first + count - 1`; ends early at `until` (asked
    /// between rounds).
    race_report play(
        std::uint64_t first, std::uint64_t count,
        const std::function<bool()>& until = [] { return false; });

private:
    struct actor;
    struct world;

    void play_one(std::uint64_t seed, race_report& report);

    race_bug bug_;
};

}  // namespace holdfast::test
