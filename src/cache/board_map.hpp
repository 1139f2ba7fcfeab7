// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Which segments a board has, and which scores are in each. Pure: no I/O.
///
/// A segment's key contains its version, which grows when its range changes: the key is renamed in
/// the step that moves the players. A segment is never empty (it holds an entry of ours), so a key
/// that does not exist tells that the map is old. What is read under a map is therefore read in the
/// ranges of this map, without a look at the map.
///
/// A move of players between neighbours is written into the map before it begins. Whoever meets it
/// finishes it: its steps may be done by several and repeated.
namespace holdfast::detail {

inline constexpr std::uint64_t first_version = 1;

struct board_segment {
    std::string id;
    std::uint64_t version = first_version;
    /// The least score that belongs to it; the next segment's `low` belongs to that.
    double low = 0;
    friend bool operator==(const board_segment&, const board_segment&) = default;
};

/// Players on their way from a segment to its neighbour.
struct board_shift {
    std::string from;
    std::string to;
    /// To the upper neighbour, or to a new segment between the two: the scores from here on.
    /// To the lower neighbour: all, and `from` is gone.
    std::optional<double> cut;
    friend bool operator==(const board_shift&, const board_shift&) = default;
};

struct board_map {
    std::uint64_t version = 1;
    std::size_t partitions = 1;
    std::optional<board_shift> moving;
    std::vector<board_segment> segments;  // by `low`; the first one's is minus infinity

    /// The segment of a score, by its place.
    [[nodiscard]] std::size_t segment_of(double score) const;
    [[nodiscard]] const board_segment* find(std::string_view id) const;
    /// The map after the move. Nothing: there is none, or it cannot be, so the map is not ours.
    [[nodiscard]] std::optional<board_map> moved() const;

    [[nodiscard]] std::string text() const;
    /// Nothing: it is no map.
    [[nodiscard]] static std::optional<board_map> parse(std::string_view text);

    friend bool operator==(const board_map&, const board_map&) = default;
};

inline constexpr std::size_t most_segments = 4096;

}  // namespace holdfast::detail
