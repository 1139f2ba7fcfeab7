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

/// The command seam: "carry out these Redis commands".
///
/// The embedded engine implements it in the process, the Redis client over a network; everything
/// Redis-shaped is written once against it.
///
/// An answer has two layers. A `result` that failed means the engine gave no answer: `unavailable`
/// (never sent), `outcome_unknown` (sent, no reply), `timed_out`, `denied`, `cancelled`. A reply of
/// kind error is the server's own answer, and stays a reply here; `execute()` turns it into a code.
namespace holdfast {

/// What a subscription hears.
struct push_event {
    enum class kind : std::uint8_t {
        message,  ///< A message on a channel.
        gap       ///< Messages may have been missed (the connection was made anew): look yourself.
    };
    kind type = kind::message;
    std::string_view channel;
    std::string_view payload;
};

/// Called on the engine's own thread: must be short and must not wait. Never called after the
/// subscription's destructor has returned.
using push_handler = std::function<void(const push_event&)>;

/// Hears a channel as long as it lives. Destructor: does not wait for the network.
class subscription {
public:
    virtual ~subscription() = default;
};

/// Which kind of channel. `sharded` is Redis Cluster's SSUBSCRIBE: the channel's hash slot decides
/// the node. Elsewhere both mean the same.
enum class channel_scope : std::uint8_t { global, sharded };

/// A connection of one's own, for commands that depend on what came before on the same connection
/// (WATCH, WAIT) or that block (BLPOP).
/// Thread safety: one thread at a time.
class command_session {
public:
    virtual ~command_session() = default;

    /// Carries out the commands in order, as one pipeline. After a failure that leaves the
    /// connection's state unknown, every further call answers `unavailable`.
    virtual void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                          time_point give_up) = 0;

    /// One command. Errors: as the seam, and the server's error replies by their code.
    [[nodiscard]] result<reply> execute(const command& c, time_point give_up);
};

/// Thread safety: all members may be called from any thread.
class command_engine {
public:
    using completion = std::move_only_function<void(result<reply>)>;
    /// The outcome of each command; whose they are is the completion's to take.
    using joint_completion = std::move_only_function<void(std::span<result<reply>>)>;

    virtual ~command_engine() = default;

    /// Carries out the commands, in order where they go to the same server, in as few trips as it
    /// can. Each has its own outcome. Blocks: until all are answered, at most until `give_up`.
    /// Requires: replies.size() == commands.size().
    virtual void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                          time_point give_up) = 0;

    /// The same for one command, without waiting; the command is copied before this returns.
    /// `done` is called exactly once, on the engine's own thread or on this one: it must be short.
    virtual void submit(const command& c, time_point give_up, completion done) = 0;

    /// The same for a few commands that go to one server, each of which is carried out after those
    /// before it; in one trip where the engine can. One that may have been carried out is not sent
    /// again, whatever it allows, and none is sent without those before it.
    /// Requires: 1 to `most_together` commands, and no script among them.
    virtual void submit_together(std::span<const command> commands, time_point give_up,
                                 joint_completion done);
    static constexpr std::size_t most_together = 3;

    /// The commands as one MULTI … EXEC: all or nothing. Answers EXEC's array.
    [[nodiscard]] virtual result<reply> transaction(std::span<const command> commands,
                                                    time_point give_up) = 0;

    /// A connection of one's own to the server that holds `key` (any server, if it is empty).
    [[nodiscard]] virtual result<std::unique_ptr<command_session>> open_session(
        std::string_view key, time_point give_up) = 0;

    /// Blocks: until the server has confirmed, at most until `give_up`. After that the engine keeps
    /// the subscription alive by itself, and tells a `gap` when messages may have been missed.
    [[nodiscard]] virtual result<std::unique_ptr<subscription>> subscribe(std::string_view channel,
                                                                          channel_scope scope,
                                                                          push_handler handler,
                                                                          time_point give_up) = 0;

    /// Instead of sleeping until a push comes: hears them on this thread, and calls the handlers of
    /// all subscriptions here, until it is over or `until` has come. That spares the waiter to be
    /// woken by the engine's own thread, which is half of what a handoff costs.
    /// False: the engine's thread hears them, now and until further notice; so sleep.
    [[nodiscard]] virtual bool hear_pushes(const push_wait& wait);

    /// Which of its servers the engine would ask for the key, as a number that is the same for all
    /// keys of that server; 0 where there is one server. What is known now: it asks nobody.
    [[nodiscard]] virtual std::size_t node_of(std::string_view key) const;

    /// The clock by which `give_up` is meant.
    [[nodiscard]] virtual clock& time() const noexcept = 0;

    /// One command. Errors: as the seam, and the server's error replies by their code.
    [[nodiscard]] result<reply> execute(const command& c, time_point give_up);

    /// A script by its SHA-1, loaded when the server does not know it.
    [[nodiscard]] result<reply> evaluate(const script& s, std::span<const std::string_view> keys,
                                         std::span<const std::string_view> args, time_point give_up,
                                         repeat again = repeat::never);
};

}  // namespace holdfast
