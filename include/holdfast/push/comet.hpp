// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/push/counters.hpp>
#include <holdfast/push/frame.hpp>
#include <holdfast/push/log.hpp>
#include <holdfast/push/settings.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Comet: hears the rooms that somebody here views, and passes their frames on, whole and in order.
///
/// Two layers. `comet` is one for a process: it talks to the engine, hears frames, notices and
/// repairs gaps, and keeps the keys that say who views what. `viewers` (viewers.hpp) is one for
/// each I/O loop: it has the connections, belongs to its loop's thread and never locks. Between
/// them go the values below: what a loop wants goes to `comet_link`, what it hears comes to its
/// `loop_port`.
///
///     comet --room_frame--> loop_port of each loop that has viewers of the room
///           <--comet_link-- viewers of that loop
namespace holdfast::push {

/// The room can be viewed by all who entered it: later frames begin behind `at`.
struct room_ready {
    std::string room;
    position at;
};

/// The next frame of the room, without a hole and never twice: it begins behind the last one, or
/// with another epoch if the engine has lost the room.
struct room_frame {
    shared_frame frame;
};

/// The answer to comet_link::read().
struct room_history {
    std::string room;
    std::uint64_t ticket = 0;
    /// False: what is behind the asked position is not all there any more, or its epoch is gone.
    bool recoverable = false;
    /// What was missed, in order, at most one frame; empty if nothing was.
    shared_frame missed = {};
    /// Where the room was broadcast to when it was read.
    position at = {};
    /// Set if the engine did not answer.
    std::optional<error> failure = {};
};

using comet_event = std::variant<room_ready, room_frame, room_history>;

/// The way to one I/O loop; the network side implements it.
class loop_port {
public:
    virtual ~loop_port() = default;
    /// Calls viewers::hear(event) soon on the loop's thread, in the order of the calls. Must be
    /// short, and must not wait.
    virtual void post(comet_event event) = 0;
};

/// A connection, unique in the whole system: `a91f…-17`. The Comet's id is in front of the last
/// dash.
struct connection_name {
    std::string value;
};

/// What `viewers` asks of the Comet. No member waits; answers come to the loop's port.
/// Thread safety: all members may be called from any thread.
class comet_link {
public:
    virtual ~comet_link() = default;

    /// A connection entered the room. Answered by `room_ready` when its keys are written and the
    /// room's position is known; the loop gets the room's frames until its last one leaves.
    virtual void enter(std::size_t loop, const std::string& room, const connection_name& who,
                       const std::string& user) = 0;
    virtual void leave(std::size_t loop, const std::string& room, const connection_name& who,
                       const std::string& user) = 0;

    /// Reads what came behind `after`; answered by `room_history` with this ticket.
    virtual void read(std::size_t loop, const std::string& room, const position& after,
                      std::uint64_t ticket) = 0;

    /// Draws a name for a connection.
    [[nodiscard]] virtual connection_name new_connection() = 0;
};

/// Thread safety: all members may be called from any thread.
class comet final : public comet_link {
public:
    /// Does no I/O. `loops` are numbered as they stand there. Requires: as logic; the ports outlive
    /// this; `counts` may be null.
    comet(client& hf, settings s, std::vector<loop_port*> loops, log_sink log,
          counters* counts = nullptr);

    /// As stop().
    ~comet() override;

    /// Errors: invalid_argument (the settings). Blocks: never.
    [[nodiscard]] result<void> start();

    /// Takes this Comet's entries away, and hears no more. After it has returned no port is called.
    /// Blocks: at most about settings::timeout if the engine is away.
    void stop();

    /// 12 hex digits.
    [[nodiscard]] const std::string& id() const noexcept;

    void enter(std::size_t loop, const std::string& room, const connection_name& who,
               const std::string& user) override;
    void leave(std::size_t loop, const std::string& room, const connection_name& who,
               const std::string& user) override;
    void read(std::size_t loop, const std::string& room, const position& after,
              std::uint64_t ticket) override;
    [[nodiscard]] connection_name new_connection() override;

private:
    class impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace holdfast::push
