// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

/// What one process counts of each room, for an operator: totals, and the last seconds.
///
/// Bounded: the rooms that were counted longest ago are forgotten. Where rooms are in the engine,
/// and who holds their locks, is logic::room()'s.
namespace holdfast::push {

struct room_figures {
    std::uint64_t messages = 0;    ///< Messages admitted, without duplicates.
    std::uint64_t duplicates = 0;  ///< Messages that were sent before.
    std::uint64_t deferred = 0;    ///< Posts that met a cooldown and waited for its end.
    std::uint64_t skipped = 0;     ///< Posts that met a cooldown and were dropped (mode drop).
    std::uint64_t contended = 0;   ///< Times that another consumer had the room.
    std::uint64_t frames = 0;      ///< Frames published.
    std::uint64_t sent = 0;        ///< Messages in them.
    std::uint64_t failures = 0;    ///< Broadcasts that failed.
    std::uint64_t shed = 0;        ///< Messages that slow viewers did not get.
    std::uint64_t wait_ms = 0;     ///< Sum over frames: how long its oldest message waited.

    friend room_figures operator-(const room_figures& a, const room_figures& b) noexcept;
    friend bool operator==(const room_figures&, const room_figures&) = default;
};

struct room_record {
    room_figures total;   ///< Since the process counts the room.
    room_figures recent;  ///< Since the last turn() but one.
};

/// Thread safety: all members may be called from any thread.
class room_board {
public:
    explicit room_board(std::size_t most_rooms = 1024);

    void add(std::string_view room, std::uint64_t room_figures::* which, std::uint64_t amount = 1);

    /// Ends a period. Called each 10 s, `recent` is of the last 10 to 20 s.
    void turn();

    /// Zeros if it is not counted, or forgotten.
    [[nodiscard]] room_record find(std::string_view room) const;
    [[nodiscard]] std::size_t size() const;

private:
    struct entry {
        std::string room;
        room_figures total{};
        room_figures before{};  // at the last turn but one
        room_figures last{};    // at the last turn
    };
    using order = std::list<entry>;

    const std::size_t most_;
    mutable std::mutex mutex_;
    order newest_;  // counted last: first
    std::map<std::string_view, order::iterator> by_name_;
};

}  // namespace holdfast::push
