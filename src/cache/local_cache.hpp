// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// The copies of entries in this process: bounded in bytes, and quick to drop what is not read
/// again.
///
/// Eviction is S3-FIFO (Yang and others, SOSP 2023): newcomers enter a small queue, a tenth of the
/// bytes. Those read again move to the main queue; the others leave, and only their hash is kept
/// for a while. If a key whose hash is kept comes back, it enters the main queue. So a scan passes
/// through the small queue and evicts nothing that is in use. A hit sets a counter and moves
/// nothing.
///
/// A copy that would be older than what the engine says must not be kept. Whoever fetches reads
/// mark() before it asks the engine; put() keeps the copy only if no message about a key of the
/// same stripe came since.
///
/// Thread safety: all members may be called from any thread.
namespace holdfast::detail {

class local_cache {
public:
    using reader = void (*)(void* to, std::string_view value, bool absent);

    /// 0 bytes: keeps nothing.
    explicit local_cache(std::size_t bytes);

    /// Hands the copy to `read` if it is there and was put after `oldest`. Allocates nothing.
    bool find(std::string_view key, time_point oldest, reader read, void* to);

    [[nodiscard]] std::uint64_t mark(std::string_view key) const;
    void put(std::string_view key, std::string_view value, bool absent, time_point now,
             std::uint64_t mark);

    void erase(std::string_view key);
    void clear();
    /// What is being fetched now is not kept.
    void refuse_fetched();

    [[nodiscard]] std::size_t bytes() const;
    [[nodiscard]] std::size_t entries() const;
    [[nodiscard]] bool enabled() const noexcept { return limit_ > 0; }

private:
    static constexpr std::size_t shards = 16;
    enum class queue : std::uint8_t { small, main };
    struct entry {
        std::string key;
        std::string value;
        bool absent = false;
        std::uint8_t reads = 0;
        queue where = queue::small;
        time_point put{};
        [[nodiscard]] std::size_t cost() const { return key.size() + value.size() + overhead; }
    };
    static constexpr std::size_t overhead = 160;
    using chain = std::list<entry>;
    struct shard {
        mutable std::mutex mutex;
        std::uint64_t mark = 0;
        chain small, main;
        std::size_t small_bytes = 0, main_bytes = 0;
        std::unordered_map<std::string_view, chain::iterator> index;
        std::vector<std::uint32_t> ghosts = std::vector<std::uint32_t>(1024);
    };

    shard& shard_of(std::string_view key) const;
    void remove(shard& in, chain::iterator at);
    void make_room(shard& in);
    static bool demote_small(shard& in);
    static bool demote_main(shard& in);

    const std::size_t limit_;  // of one shard
    std::unique_ptr<std::array<shard, shards>> shards_;
};

}  // namespace holdfast::detail
