// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/push/room_board.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

/// What live push counts, for /metrics. One of these for all roles of a process.
namespace holdfast::push {

/// Thread safety: any thread may read and add.
struct counters {
    using counter = std::atomic<std::uint64_t>;

    // Logic
    counter posts{};       ///< Posts admitted.
    counter messages{};    ///< Messages admitted, without duplicates.
    counter duplicates{};  ///< Messages answered with the original's offset.
    counter refused{};     ///< Posts refused.
    // Job
    counter received{};    ///< Queue entries read.
    counter deferred{};    ///< Queue entries that met a cooldown and wait for its end.
    counter skipped{};     ///< Queue entries that met a cooldown and were dropped (mode drop).
    counter contended{};   ///< Times that another consumer had the room.
    counter broadcasts{};  ///< Frames published.
    counter broadcast_messages{};
    counter broadcast_failures{};
    counter claimed{};   ///< Queue entries of dead consumers taken over.
    counter fenced{};    ///< Broadcasts refused because a later holder was there.
    counter queue_us{};  ///< Sum over broadcasts: how long its oldest message waited, in us.
    // Comet
    counter frames_in{};      ///< Frames heard.
    counter frames_out{};     ///< Frames given to connections.
    counter messages_out{};   ///< Messages in them.
    counter frames_merged{};  ///< Frames of slow connections that were merged with the one before.
    counter shed{};           ///< Messages that slow connections did not get.
    counter closed_slow{};    ///< Connections closed because they were too slow.
    counter gaps{};           ///< Lost or late frames noticed.
    counter repaired{};       ///< Messages read from history instead.
    counter resumed{};        ///< Joins that got what they had missed.
    counter not_recoverable{};  ///< Joins that could not.
    counter viewers{};          ///< Connections now.
    counter rooms{};            ///< Rooms with viewers here now.

    /// The same for each room, for people who look; not for Prometheus.
    room_board board{};
};

struct counter_value {
    std::string_view name;  ///< `push_messages_total`; `push_viewers` for one that can fall.
    std::string_view help;
    std::uint64_t value;
    bool gauge;
};

inline constexpr std::size_t counter_count = 26;

/// All of them with the names and help texts for Prometheus.
[[nodiscard]] std::array<counter_value, counter_count> read(const counters& c);

}  // namespace holdfast::push
