// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/engine/command.hpp>
#include <holdfast/engine/push_wait.hpp>
#include <holdfast/engine/reply.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

/// The command seam: carries out Redis commands.
///
/// The embedded engine implements it in the process, the Redis client over a network; leases and
/// traffic control are written once against it.
///
/// An answer has two layers. A `result` that failed means the engine gave no answer: `unavailable`
/// (never sent), `outcome_unknown` (sent, no reply), `timed_out`, `denied`, `cancelled`. A reply of
/// kind error is the server's own answer, and stays a reply here; `execute()` turns it into a code.
namespace holdfast {

/// What a subscription receives.
struct push_event {
    enum class kind : std::uint8_t {
        message,  ///< A message on a channel.
        gap       ///< Messages may have been missed (the connection was re-established): poll.
    };
    kind type = kind::message;
    std::string_view channel;
    std::string_view payload;
};

/// Called on the engine's own thread: must be short and must not wait. Never called after the
/// subscription's destructor has returned.
using push_handler = std::function<void(const push_event&)>;

/// Receives the messages of a channel while it exists. The destructor does not wait for the
/// network.
class subscription {
public:
    virtual ~subscription() = default;
};

/// Which kind of channel. `sharded` is Redis Cluster's SSUBSCRIBE: the channel's hash slot decides
/// the node. Elsewhere both mean the same.
enum class channel_scope : std::uint8_t { global, sharded };

/// An exclusive connection, for commands that depend on what came before on the same connection
/// (WATCH, WAIT) or that block (BLPOP).
/// Thread safety: one thread at a time.
class command_session {
public:
    virtual ~command_session() = default;

    /// Carries out the commands in order, as one pipeline. After a failure that leaves the
    /// connection's state unknown, every further call returns `unavailable`.
    virtual void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                          time_point give_up) = 0;

    /// One command. Errors: as the seam, and the server's error replies by their code.
    [[nodiscard]] result<reply> execute(const command& c, time_point give_up);
};

/// Thread safety: all members may be called from any thread.
class command_engine {
public:
    using completion = std::move_only_function<void(result<reply>)>;
    /// The outcome of each command; the completion may move them.
    using joint_completion = std::move_only_function<void(std::span<result<reply>>)>;

    virtual ~command_engine() = default;

    /// Carries out the commands, in order where they go to the same server, in as few trips as it
    /// can. Each has its own outcome. Blocks: until all are answered, at most until `give_up`.
    /// Requires: replies.size() == commands.size().
    virtual void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                          time_point give_up) = 0;

    /// The same for one command, without waiting; the command is copied before this returns.
    /// Calls `done` exactly once, on the engine's own thread or on this one: it must be short.
    virtual void submit(const command& c, time_point give_up, completion done) = 0;

    /// The same for a few commands that go to one server, each of which is carried out after those
    /// before it; in one trip where the engine can. One that may have been carried out is not sent
    /// again, whatever it allows, and none is sent without those before it.
    /// Requires: 1 to `most_together` commands, and no script among them.
    virtual void submit_together(std::span<const command> commands, time_point give_up,
                                 joint_completion done);
    static constexpr std::size_t most_together = 3;

    /// The commands as one MULTI … EXEC: all or nothing. Returns EXEC's array.
    [[nodiscard]] virtual result<reply> transaction(std::span<const command> commands,
                                                    time_point give_up) = 0;

    /// Returns an exclusive connection to the server that holds `key` (any server, if it is empty).
    [[nodiscard]] virtual result<std::unique_ptr<command_session>> open_session(
        std::string_view key, time_point give_up) = 0;

    /// Blocks: until the server has confirmed, at most until `give_up`. After that the engine keeps
    /// the subscription alive by itself, and reports a `gap` when messages may have been missed.
    [[nodiscard]] virtual result<std::unique_ptr<subscription>> subscribe(std::string_view channel,
                                                                          channel_scope scope,
                                                                          push_handler handler,
                                                                          time_point give_up) = 0;

    /// Tells which keys change: each key that begins with `prefix` and is written, deleted, expired
    /// or evicted by anybody is the payload of a message. A `gap` is told at once when the server
    /// cannot be heard any more, and again when it can: forget what was known of the keys.
    /// Errors: as subscribe(); unsupported, if the engine cannot tell.
    [[nodiscard]] virtual result<std::unique_ptr<subscription>> watch_keys(std::string_view prefix,
                                                                           push_handler handler,
                                                                           time_point give_up);

    /// For a thread that waits for a push: receives pushes on this thread, and calls the handlers
    /// of all subscriptions here, until it is over or `until` has come. This saves the waiter a
    /// wake-up by the engine's own thread, which is half of the cost of a handoff.
    /// False: the engine's thread receives them, now and until further notice; so sleep.
    [[nodiscard]] virtual bool hear_pushes(const push_wait& wait);

    /// Returns which of its servers the engine would ask for the key, as a number that is the same
    /// for all keys of that server; 0 where there is one server. By what is known now; no I/O.
    [[nodiscard]] virtual std::size_t node_of(std::string_view key) const;

    /// The clock of `give_up`.
    [[nodiscard]] virtual clock& time() const noexcept = 0;

    /// One command. Errors: as the seam, and the server's error replies by their code.
    [[nodiscard]] result<reply> execute(const command& c, time_point give_up);

    /// A script by its SHA-1, loaded when the server does not know it.
    [[nodiscard]] result<reply> evaluate(const script& s, std::span<const std::string_view> keys,
                                         std::span<const std::string_view> args, time_point give_up,
                                         repeat again = repeat::never);
};

}  // namespace holdfast
