// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/redis/counters.hpp"
#include "driver/redis/pending_request.hpp"
#include "driver/redis/pending_request_pool.hpp"
#include "driver/redis/wake.hpp"
#include "driver/redis/wire.hpp"
#include "runtime/adaptive_yield.hpp"
#include "runtime/inline_io.hpp"

#include <holdfast/entropy.hpp>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

/// One shared connection, made again whenever it breaks, that any number of threads use at once.
///
/// Commands wait in one queue. Two roles move them: the *writer* takes what is queued and sends it
/// in one write, the *reader* waits for replies and hands them out. Both are taken by whoever is at
/// hand, one thread at a time:
///
/// - A caller that finds the connection idle takes both and does its own I/O: no thread switch.
/// - A caller that finds a reader at work writes, if the gate is open, and waits.
/// - A caller that submits to several links, and then waits for enough of them, does the same for
///   each that is idle (runtime/inline_io.hpp). What is still to come when it has enough it leaves
///   unread, if nobody else waits there: the next one reads it too, or the link's thread, if nobody
///   comes for a moment.
/// - A reader that has its own reply, while others wait, passes the role to the link's thread.
///   That thread keeps it while several callers share the connection, and drops it when callers
///   come one by one.
/// - One of many callers that finds its reply not yet read looks for it once itself, whoever has
///   the role: among so many, the thread's turn comes late.
///
/// The gate decides when to write: at once if nothing is in flight, or one caller's commands, and
/// otherwise when the queue has grown to what is in flight, or to a full batch. So a few callers
/// hardly wait for each other, and many travel in large batches, the next on its way while the
/// server works on the last. Many callers that were answered together tend to ask again together:
/// the gate stays shut until half of them are back, or the reader, who lets them run, has its next
/// turn.
///
/// Who waits gives way before it sleeps (runtime/adaptive_yield.hpp): most of the time that a
/// command takes on the way to a near server, and most of the work that many callers make, is to
/// put threads to sleep and to wake them.
///
/// A command that gets no reply in time makes its connection *retire*: nothing more is written to
/// it, those already in flight may still be answered, and everyone else goes on with a new one.
/// When nobody waits for it any more it is ended at both sides: what the kernel has not delivered
/// is dropped, and the server is told to close it (CLIENT KILL), before any command that is asked
/// for again. So what was given up cannot be carried out later, when it may have been undone.
namespace holdfast::redis {

/// Says where the server is now. Asked on every connect. Errors: as a connect.
using server_locator = std::function<result<server_address>(time_point give_up)>;

/// One connection of a link, from greeting to end.
struct channel {
    enum class role : std::uint8_t { nobody, caller, thread };

    channel(std::unique_ptr<wire> connected, time_point now, time_point never)
        : connection(std::move(connected)), born(now), earliest(never), reader_wakes(never) {}

    std::unique_ptr<wire> connection;
    const time_point born;

    // Guarded by the link's mutex.
    ticket_list flying;  ///< Written, and not yet taken over by the reader.
    std::size_t flying_tickets = 0;
    std::size_t flying_commands = 0;
    std::size_t flying_bytes = 0;
    time_point earliest;      ///< No deadline of what is in flight is before this.
    time_point reader_wakes;  ///< When the reader looks at deadlines by itself.
    role reader = role::nobody;
    time_point left_unread{};                   ///< When a reader left with replies to come.
    const detail::inline_io* led_by = nullptr;  ///< By whose turn, if the reader has one.
    bool shared = false;   ///< Somebody else than that one has sent something since it leads.
    bool writing = false;  ///< A thread has the writer's role.
    bool blocked = false;  ///< The socket took a part only; the reader sends the rest.
    bool broken = false;
    bool looking = false;  ///< A caller looks for its reply: the thread keeps the reader's role.
    bool retired = false;
    std::size_t returning = 0;  ///< Callers just woken, who are given a moment to come back.
    std::string reason;         ///< Why it broke, if a writer saw it.

    // Of whoever reads: the reader, or a caller that looks for its reply. Its mutex is taken before
    // the link's, or only tried.
    std::mutex reading_mutex;
    ticket_list reading;
    bool ended = false;  ///< A caller that looked has seen the end; the reader cleans up.
    std::vector<char> room = std::vector<char>(std::size_t{64} << 10);
    int lonely_rounds = 0;  ///< Round trips in a row with one caller's commands in flight.

    // The writer's; the reader's while blocked.
    std::string out;
    std::size_t out_sent = 0;
    std::uint64_t encoded = 0;  ///< Bytes ever encoded for this connection,
    std::uint64_t written = 0;  ///< … and bytes that may have left.
    time_point last_write{};

    event poke;  ///< Wakes a reader that is a caller.
};

/// Thread safety: all members may be called from any thread.
class link {
public:
    link(const profile& p, server_locator where, clock& time, entropy& chance, counters& counts);
    ~link();
    link(const link&) = delete;
    link& operator=(const link&) = delete;

    /// Carries out the request's commands once. Blocks: at most until its give_up.
    void run(pending_request& t);

    /// A blank request for submit().
    [[nodiscard]] std::unique_ptr<async_ticket> blank() { return pool_.take(); }

    /// Takes the request; its completion runs on the link's thread, on one whose turn reads
    /// (runtime/inline_io.hpp), or here if the link is full.
    void submit(std::unique_ptr<async_ticket> t);

    /// run() in two halves, so that one thread can have commands at several links at once.
    /// Requires: every request that was begun is awaited, by the same thread.
    void begin(pending_request& t);
    void await(pending_request& t);

    /// Retires the connection if it was made before `moment` and does not lead to `spared`: nothing
    /// more is written to it, and the next command makes a new one. What is in flight may still be
    /// answered.
    void retire_before(time_point moment, const server_address* spared = nullptr);

    /// Something has come from the server by another connection: it is awake.
    void heard_push() noexcept { lone_turns_.heard(); }

    [[nodiscard]] std::size_t queued() const;
    [[nodiscard]] std::size_t in_flight() const;

private:
    using lock = std::unique_lock<std::mutex>;

    /// A connection that a waiting thread reads by itself (runtime/inline_io.hpp).
    class led_channel;
    static constexpr duration unread_at_most = std::chrono::milliseconds(5);
    /// After so many round trips with one caller's commands the thread gives the reader's role up.
    static constexpr int lonely_enough = 4;

    // link.cpp: callers
    [[nodiscard]] bool lead_submitted(lock& held);
    [[nodiscard]] bool looks_open(channel& c, time_point now);
    [[nodiscard]] bool admit(pending_request& t, time_point now);
    void lead(pending_request& own, channel& c, bool writes);
    void set_off(lock& held);
    [[nodiscard]] bool withdraw(pending_request& t);
    void pass_reading(channel& c);
    void leave_unread(channel& c);
    void poke_reader(channel& c) noexcept;
    [[nodiscard]] bool is_crowded() const noexcept;
    [[nodiscard]] bool in_a_crowd() const noexcept;
    void come_in(pending_request& t);
    void look_for_replies(const pending_request& own);

    // link_io.cpp: writing and reading, by whoever has the role
    [[nodiscard]] bool gate_open(const channel& c) const noexcept;
    void write_batches(channel& c);
    void take_batch(channel& c, ticket_list& batch);
    void publish_batch(channel& c, ticket_list& batch);
    void send_out(channel& c);
    [[nodiscard]] bool read_replies(channel& c, ticket_list& settled);
    [[nodiscard]] bool match_replies(channel& c, ticket_list& settled);
    void expire(channel& c, time_point now, ticket_list& settled);
    using reading_lock = std::unique_lock<std::mutex>;
    void break_channel(channel& c, reading_lock reading, ticket_list& settled);
    [[nodiscard]] std::unique_ptr<async_ticket> farewell_to(const wire::server_side& connection);
    void queue_farewells();
    static void take_off(ticket_list& settled) noexcept;
    [[nodiscard]] static bool still_open(channel& c);
    [[nodiscard]] bool wanted(const channel& c) const;
    void write_if_open(channel& c, std::size_t woken);
    [[nodiscard]] bool service(channel& c, short ready, const pending_request* own);
    [[nodiscard]] short wait_ready(channel& c, time_point limit);

    // link_thread.cpp: the link's own thread
    void serve();
    void connect(lock& held);
    void connected(std::unique_ptr<wire> connection);
    void not_connected(error e, ticket_list& settled);
    void poll_channels();
    void take_what_is_unread(channel& c, time_point now, time_point& wake) const;
    void service_ready();
    void expire_queued(time_point now, ticket_list& settled);
    void drop(channel& c);
    void start_thread();

    void settle(ticket_list& list, const pending_request* own);
    void finish(std::unique_ptr<async_ticket> t, ticket_list& spent);
    static void deliver(async_ticket& t);
    [[nodiscard]] bool repeat_later(async_ticket& t);
    void fail_ticket(pending_request& t, errc code, const std::string& detail);
    [[nodiscard]] std::string describe(const pending_request& t, std::size_t i, const channel* c,
                                       std::string_view what) const;

    const profile& profile_;
    server_locator where_;
    clock& time_;
    entropy& chance_;
    counters& counts_;

    mutable std::mutex mutex_;
    std::condition_variable writer_left_;
    ticket_list queue_;
    std::size_t queued_commands_ = 0;
    channel* current_ = nullptr;
    std::vector<std::unique_ptr<channel>> channels_;  ///< The current one and retired ones.

    /// Callers that came between two writes travel together, are answered together, and sleep on
    /// the same futex, so that one system call wakes them all. A ring: a caller that shares its
    /// futex with a later cohort is woken for nothing, and sleeps again.
    static constexpr std::size_t cohort_count = 64;
    std::array<std::atomic<std::uint32_t>, cohort_count> cohorts_{};
    std::size_t cohort_ = 0;
    detail::adaptive_yield turns_;          ///< The callers' that wait,
    detail::adaptive_yield readers_turns_;  ///< … the link's thread's that reads for them,
    detail::adaptive_yield lone_turns_;     ///< … and of whoever reads while no other caller waits.
    std::atomic<std::size_t> callers_{0};   ///< Threads in run() now.
    pending_request_pool pool_;

    /// Connections that were given up with something unanswered, to be ended at the server.
    std::vector<wire::server_side> given_up_;
    ticket_list finished_;  ///< Submitted commands, settled by a caller, to be told by the thread.
    error refusal_{errc::unavailable, {}};  ///< Why the last connect failed,
    time_point next_connect_{};             ///< … and when to try again.
    duration backoff_{};
    std::string last_server_ = "(not connected yet)";
    std::size_t submitted_queued_ = 0;
    time_point thread_wakes_{};  ///< When the link's thread looks up by itself.
    bool stopping_ = false;
    bool started_ = false;

    event nudge_;
    std::thread thread_;
};

}  // namespace holdfast::redis
