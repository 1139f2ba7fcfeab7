// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

/// The figures of the last minutes, second by second, for the charts of /ops. No clock, no thread.
namespace holdfast::app {

/// Counters first: a sample has what was added since the sample before. Gauges as they are.
inline constexpr std::array<std::string_view, 11> series_names{
    "messages",   "frames",   "sent", "duplicates", "deferred", "shed",
    "waitMicros", "acquired", "lost", "viewers",    "queue"};
inline constexpr std::size_t series_counters = 9;

using series_values = std::array<std::uint64_t, series_names.size()>;

class ops_series {
public:
    explicit ops_series(std::size_t keep = 300) : keep_(keep) {}

    /// What the counters and gauges are now.
    void put(const series_values& now);

    struct part {
        std::uint64_t next = 0;  ///< What to ask for the next time.
        std::vector<series_values> samples;
    };
    /// The samples from number `since` on; those that are kept.
    [[nodiscard]] part read(std::uint64_t since) const;

    /// What a counter has grown by over the last so many samples.
    [[nodiscard]] std::uint64_t grown(std::size_t which, std::size_t samples) const;

private:
    std::size_t keep_;
    bool begun_ = false;
    series_values last_{};
    std::uint64_t first_ = 0;  // the number of kept_.front()
    std::deque<series_values> kept_;
};

}  // namespace holdfast::app
