// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/push/counters.hpp>
#include <holdfast/push/post.hpp>
#include <holdfast/push/settings.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Logic: takes messages, and tells about rooms.
///
///     holdfast::push::logic logic(hf, settings);
///     auto sent = logic.send({.room = "video_123", .user = 123, .user_name = "Ann",
///                             .messages = {{.content = "hello"}}});
///     if (sent) use(sent->messages[0].offset);
///
/// A whole post is admitted in one round trip by one script: dedup, offsets, history, queue entry
/// and due time. It is there completely or not at all.
namespace holdfast::push {

struct room_state {
    std::string name;
    std::string epoch;
    std::uint64_t tail = 0;        ///< Offset of the newest message.
    std::uint64_t cursor = 0;      ///< Offset up to which the room was broadcast.
    std::uint64_t first_kept = 0;  ///< Offset of the oldest message in history; 0 if there is none.
    std::uint64_t viewers = 0;
    std::uint64_t comets = 0;
    double rate = 0;  ///< Messages per second over the last whole second or so.
    push::mode mode = push::mode::coalesce;
    duration cooldown_left = duration::zero();
    bool cooldown_endless = false;  ///< Another program has set it, without an expiry.
    bool locked = false;
    std::optional<std::string> holder = {};  ///< The client id of the consumer that has the lock.
    std::uint64_t fence = 0;                 ///< Of the lock now, or of the last broadcast.
    std::optional<duration> lock_left = {};  ///< Nothing: it is not held, or never expires.
    std::uint32_t waiters = 0;
};

struct room_summary {
    std::string name;
    duration idle;  ///< Since its last message.
};

/// One message of history, as frames have it.
struct kept_message {
    std::uint64_t offset = 0;
    std::string json;  ///< `{"offset":7,"id":"…","userId":123,…}`
};

struct history_page {
    std::string epoch;
    std::uint64_t cursor = 0;
    std::uint64_t first_kept = 0;
    std::vector<kept_message> messages;
};

/// Thread safety: all members may be called from any thread.
class logic {
public:
    using send_completion = std::move_only_function<void(send_result)>;

    /// Does no I/O. Requires: `hf` speaks Redis commands (can be asked by hf.commands()), and
    /// outlives this; check(s) is fine; `counts` (may be null) outlives this.
    logic(client& hf, settings s, counters* counts = nullptr);
    ~logic();
    logic(const logic&) = delete;
    logic& operator=(const logic&) = delete;

    /// Blocks: one round trip, at most settings::timeout. Sent again by itself if no answer came:
    /// a message that was stored the first time is then answered as it was stored (not as a
    /// duplicate).
    /// Errors: a refusal. With cause outcome_unknown it may have been stored: sending the same
    /// ids again is safe.
    [[nodiscard]] send_result send(const post& p);

    /// The same without waiting. `done` is called exactly once, on this thread or on one of the
    /// engine: it must be short.
    void send_async(const post& p, send_completion done);

    /// Rooms by their last message, newest first.
    /// Errors: the engine's. Blocks: one trip (one for each partition).
    [[nodiscard]] result<std::vector<room_summary>> rooms(std::size_t limit = 100);

    /// Nothing if the room has never had a message or a viewer.
    /// Errors: invalid_argument (the name), the engine's. Blocks: three trips.
    [[nodiscard]] result<std::optional<room_state>> room(std::string_view name);

    /// Ends the room's cooldown, for an operator: the next message goes at once, and what waits
    /// goes with it. False: none ran.
    /// Errors: as room(). Blocks: one trip.
    [[nodiscard]] result<bool> clear_cooldown(std::string_view room);

    /// Messages behind `after`, oldest first. Also those that are not broadcast yet.
    /// Errors: as room(). Blocks: one trip.
    [[nodiscard]] result<history_page> history(std::string_view room, std::uint64_t after = 0,
                                               std::size_t limit = 100);

    /// Entries in the queue, all partitions together: what consumers have not broadcast yet.
    /// Errors: the engine's. Blocks: one trip.
    [[nodiscard]] result<std::uint64_t> queue_length();

private:
    class impl;
    std::shared_ptr<impl> impl_;
};

}  // namespace holdfast::push
