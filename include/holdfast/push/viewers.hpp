// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/push/comet.hpp>
#include <holdfast/push/counters.hpp>
#include <holdfast/push/outbox.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The connections of one I/O loop: which rooms each views, and what waits for it. No I/O.
///
///     // on the loop's thread
///     auto id = loop_viewers.open(session, "123");
///     loop_viewers.join(id, "video_123", std::nullopt);
///     while (auto text = loop_viewers.next(id)) write(*text);   // when session.ready() was called
///     loop_viewers.close(id);                                   // when the socket is gone
///
/// Texts that a viewer gets, besides frames:
///
///     {"type":"joined","room":R,"epoch":E,"offset":N,"recovered":true}
///         frames that follow begin behind N. `recovered` is there only if it asked to resume:
///         true, all it missed follows; false, that is not recoverable, so reload and go on from N
///     {"type":"left","room":R}
///     {"type":"reset","room":R,"epoch":E,"offset":N}
///         the engine lost the room: the next frame is of another epoch
namespace holdfast::push {

/// One connection, as the loop's network side sees it.
class viewer {
public:
    virtual ~viewer() = default;
    /// next() has something, after it had nothing. Must not call `viewers` back from here if that
    /// could close this connection: start a write, or note it.
    virtual void ready() = 0;
    /// It is too slow, and has been closed here: write `hint` if that is possible at once, and end
    /// the connection with code 4008. The hint is
    /// {"type":"closing","reason":"slow","resume":[{"room":R,"epoch":E,"offset":N},…]}
    virtual void too_slow(shared_text hint) = 0;
};

struct viewer_limits {
    outbox_limits queue = {};
    std::size_t rooms = 64;  ///< That one connection may view at a time.
};

enum class join_outcome : std::uint8_t { joining, already_there, too_many_rooms, bad_name };

/// Thread safety: none; it belongs to the loop's thread.
class viewers {
public:
    using id = std::uint64_t;

    /// Requires: `link`, `s` and `counts` (may be null) outlive this; `loop` is this loop's number.
    viewers(comet_link& link, std::size_t loop, const settings& s, viewer_limits limits = {},
            counters* counts = nullptr);
    ~viewers();
    viewers(const viewers&) = delete;
    viewers& operator=(const viewers&) = delete;

    /// A new connection of that user. Requires: `to` stays until close(), or too_slow() was called.
    [[nodiscard]] id open(viewer& to, std::string user);

    /// The connection is gone. Unknown ids are ignored.
    void close(id which);

    /// Answered by a `joined` text. With `resume`, behind that position.
    join_outcome join(id which, std::string_view room, std::optional<position> resume);
    /// Answered by a `left` text; false if it was not there.
    bool leave(id which, std::string_view room);

    /// A text of the network side (an error, a pong), in its turn. False: it was too slow.
    bool say(id which, shared_text text);

    /// The next text to write to it; null if there is none.
    [[nodiscard]] shared_text next(id which);

    /// What came to this loop's port.
    void hear(const comet_event& event);

    /// {"type":"closing","reason":REASON,"resume":[…]} for a connection that is closed for another
    /// reason, e.g. "drain".
    [[nodiscard]] shared_text closing_text(id which, std::string_view reason) const;

    /// For each connection, e.g. to drain.
    [[nodiscard]] std::vector<id> all() const;
    [[nodiscard]] std::size_t size() const noexcept;
    [[nodiscard]] const connection_name* name_of(id which) const;

private:
    class impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace holdfast::push
