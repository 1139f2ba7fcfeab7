// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traffic/decision_cache.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/decision.hpp>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// Tokens that were taken from the engine in blocks, and are spent in this process.
///
/// A token is charged when its block is taken, and spent later. So that this never admits more than
/// the rule promises, what is spent must still be covered by the charge:
///
/// - A fixed window, and each part of a strict sliding counter: the block is spent only until the
///   end of the window or part that it was charged to.
/// - A token bucket: a block of q with the life L is charged as if the bucket owed L already
///   (`floor` in gcra.lua). Let N tokens be spent between a and b. Those of blocks were charged
///   after a - L, so on a debt that ends at a or later; those that were asked for singly, after a.
///   Every charge ends at most `capacity` worth of time after the moment it is made, and so after
///   b. N tokens thus fit between a and b + capacity's worth: N <= capacity + rate * (b - a), which
///   is what a bucket without blocks promises.
///
/// What is not spent may go back as long as it could be spent. A server that hangs may read that
/// long after it was sent, so it says until when it counts, by the server's own time, which was
/// told with the block.
///
/// Ends are measured from before the request was sent, less the drift allowance. A process that is
/// killed takes its block with it: the others have that much less until the bucket has refilled or
/// the window is over.
///
/// One caller fetches a block, the others wait for it: a hot key makes one trip, not one for each
/// thread.
namespace holdfast::detail {

/// Thread safety: all members may be called from any thread.
class token_blocks {
public:
    token_blocks(std::uint64_t block, std::size_t most_keys, clock& time);

    enum class step : std::uint8_t {
        served,  ///< n were taken from the block.
        fetch,   ///< The caller fetches a block and must call finish().
        alone    ///< There is no block to be had now: ask for n alone.
    };

    struct outcome {
        step next;
        decision served{};              ///< If served.
        std::uint64_t leftover = 0;     ///< If fetch: unspent tokens to give back first …
        std::int64_t leftover_end = 0;  ///< … before this, by the server's time.
    };

    /// Blocks: while another caller fetches the block of this key, at most until `give_up`.
    [[nodiscard]] outcome take(std::string_view key, std::uint64_t n, time_point give_up);

    /// What the fetch brought. The caller itself spends `spent` of the granted.
    struct fetched {
        std::uint64_t granted = 0;  ///< 0: refused, or no answer.
        std::uint64_t spent = 0;
        time_point until{};           ///< A grant is spent from until then …
        time_point not_before{};      ///< … and after a refusal nobody fetches before.
        std::int64_t server_end = 0;  ///< `until` by the server's time, in microseconds.
        decision answer{};
    };
    void finish(std::string_view key, const fetched& got);

    struct rest {
        std::string key;
        std::uint64_t left;
        std::int64_t server_end;
    };
    /// Takes out everything that can still be given back.
    [[nodiscard]] std::vector<rest> drain();

private:
    struct entry {
        std::uint64_t left = 0;
        time_point until{};
        time_point not_before{};
        std::int64_t server_end = 0;
        bool fetching = false;
        decision answer{};
        time_point reset_at{};
        std::condition_variable arrived;
    };
    using entry_map = std::unordered_map<std::string, entry, text_hash, std::equal_to<>>;
    struct alignas(64) shard {
        std::mutex mutex;
        entry_map entries;
    };

    shard& of(std::string_view key) noexcept;
    entry* open(shard& in, std::string_view key, time_point now);
    [[nodiscard]] decision serve(entry& from, std::uint64_t n, time_point now) const;

    const std::uint64_t block_;
    const std::size_t most_per_shard_;
    clock& time_;
    static constexpr std::size_t shard_count = 16;
    std::array<shard, shard_count> shards_;
};

}  // namespace holdfast::detail
