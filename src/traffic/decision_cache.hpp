// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/decision.hpp>

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

/// What a process remembers of keys so that it need not ask: refusals, and the ends of windows.
///
/// A refusal says when the same would be allowed at the earliest; before that the answer is known.
/// It is measured from before the request was sent, so it is never believed for too long. What
/// others give back meanwhile is not seen: a refusal may then last longer than it had to, at most
/// for its retry_after.
///
/// It is bounded. A full shard forgets one whose time is over, or any: a key that is forgotten only
/// costs a trip.
namespace holdfast::detail {

/// Finds a std::string by a view of it.
struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
        return std::hash<std::string_view>{}(text);
    }
};

/// Thread safety: all members may be called from any thread.
class decision_cache {
public:
    /// 0: remembers nothing.
    explicit decision_cache(std::size_t most_keys);

    /// The refusal of n that is still known to hold.
    [[nodiscard]] std::optional<decision> refusal(std::string_view key, std::uint64_t n,
                                                  time_point now);
    void remember_refusal(std::string_view key, std::uint64_t n, const decision& refused,
                          time_point sent);

    /// How long a key's fixed window still runs, if that is known.
    [[nodiscard]] std::optional<duration> window_left(std::string_view key, time_point now);
    void remember_window(std::string_view key, time_point end, time_point now);

    /// Something was given back: the next one asks, and what was asked for before is not believed.
    void forget(std::string_view key, time_point now);

    [[nodiscard]] std::size_t size() const;

private:
    struct note {
        time_point refused_until{};
        std::uint64_t refused_n = 0;
        decision refused{};
        time_point reset_at{};
        time_point given_back{};
        time_point window_end{};
    };
    using note_map = std::unordered_map<std::string, note, text_hash, std::equal_to<>>;
    // One cache line apart, so that keys of different shards do not slow each other.
    struct alignas(64) shard {
        mutable std::mutex mutex;
        note_map notes;
    };

    shard& of(std::string_view key) noexcept;
    note& open(shard& in, std::string_view key, time_point now) const;

    static constexpr std::size_t shard_count = 16;
    std::size_t most_per_shard_;
    std::array<shard, shard_count> shards_;
};

}  // namespace holdfast::detail
