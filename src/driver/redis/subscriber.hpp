// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/redis/counters.hpp"
#include "driver/redis/link.hpp"
#include "driver/redis/published_message.hpp"
#include "driver/redis/wake.hpp"
#include "driver/redis/wire.hpp"

#include <holdfast/engine/command_engine.hpp>
#include <holdfast/entropy.hpp>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

/// All subscriptions to one server, on one connection that a thread of its own keeps alive.
///
/// The thread is started by the first subscription. A caller that waits for a push, and is the only
/// one, may take over reading from it (attend()): being woken by the thread would cost it as much
/// again as the push itself. The thread gives the reading up when callers have come one by one, and
/// takes it back when nobody has read for a while, or somebody waits who does not read. While there
/// is any subscription beside that caller's it keeps the reading: between two callers nobody reads,
/// and the other one would be told of a message 100 ms late.
///
/// With a tracked prefix (profile) it hears of changes of keys on one channel of the server's, and
/// tells of a gap also when the connection breaks.
///
/// After a break it connects again, subscribes to everything again, and then tells every handler
/// that had been heard of before: there was a gap.
namespace holdfast::redis {

/// One handler. Its mutex is held while it runs, so that its end can wait for it; a handler may end
/// its own subscription from inside.
struct listener {
    explicit listener(push_handler h) : handler(std::move(h)) {}
    void tell(const push_event& what);
    void end();

    std::recursive_mutex mutex;
    push_handler handler;
    bool ended = false;
};

/// Thread safety: all members may be called from any thread.
class subscriber : public std::enable_shared_from_this<subscriber> {
public:
    subscriber(const profile& p, server_locator where, clock& time, entropy& chance,
               std::shared_ptr<counters> counts);
    ~subscriber();
    subscriber(const subscriber&) = delete;
    subscriber& operator=(const subscriber&) = delete;

    [[nodiscard]] result<std::unique_ptr<subscription>> subscribe(std::string_view channel,
                                                                  channel_scope scope,
                                                                  push_handler handler,
                                                                  time_point give_up);

    /// Takes over a channel that was heard elsewhere, without waiting: a `gap` is told as soon as
    /// the server has confirmed.
    [[nodiscard]] std::unique_ptr<subscription> adopt(std::string_view channel, channel_scope scope,
                                                      push_handler handler);

    /// Told, on this thread, of a sharded channel that this server does not serve any more. It is
    /// forgotten here. Requires: set before the first subscription.
    void on_moved(std::function<void(const std::string& channel)> told);

    /// Told of every message, on the thread that reads it, before the handlers are. Requires: set
    /// before the first subscription.
    void on_message(std::function<void()> told);

    /// As command_engine::hear_pushes().
    [[nodiscard]] bool attend(const push_wait& wait);

    /// Gives up the present connection, unless it leads to `spared`, and makes a new one.
    void renew(const server_address* spared = nullptr);

    /// Ends the thread. No handler runs afterwards.
    void stop();

private:
    friend class live_subscription;
    struct key_view {
        channel_scope scope;
        std::string_view channel;
        friend auto operator<=>(const key_view&, const key_view&) = default;
    };
    struct key {
        channel_scope scope;
        std::string channel;
        operator key_view() const { return {scope, channel}; }  // NOLINT: it is meant to convert
        friend bool operator==(const key&, const key&) = default;
    };
    struct by_name {
        using is_transparent = void;
        bool operator()(key_view a, key_view b) const { return a < b; }
    };
    using listeners = std::vector<std::shared_ptr<listener>>;
    struct topic {
        std::shared_ptr<const listeners> told = std::make_shared<listeners>();
        bool confirmed = false;  ///< On the present connection.
        bool heard = false;      ///< On some connection before: a new one means a gap.
    };
    using lock = std::unique_lock<std::mutex>;

    void join(lock& held, const key& k, const std::shared_ptr<listener>& who);
    void leave(const key& k, const std::shared_ptr<listener>& who);
    void serve();
    [[nodiscard]] bool reconnect();
    void back_off(lock& held);
    void listen();
    [[nodiscard]] bool ask_for_reading(lock& held);
    [[nodiscard]] bool take_reading(const push_wait& wait);
    [[nodiscard]] bool one_listens() const noexcept;
    void leave_reading(bool alone);
    void doze(lock& held);
    void wake_reader() noexcept;
    struct bells {
        event& own;
        int other = -1;  ///< Somebody else's descriptor, who clears it too.
    };
    enum class round_end : std::uint8_t { quiet, lost };
    [[nodiscard]] round_end read_round(time_point until, bells by);
    [[nodiscard]] static std::string_view verb_of(channel_scope scope, bool add);
    void queue_words(std::string_view verb, channel_scope scope,
                     const std::vector<std::string>& channels);
    [[nodiscard]] bool write_pending();
    [[nodiscard]] bool read_pushed();
    [[nodiscard]] bool read_replies(std::string_view bytes);
    void dispatch(const reply& pushed);
    void deliver(const published& message);
    void deliver_changes(const std::string& channel, const reply& keys);
    void tell_gap();
    void confirm(const key& k);
    void forget_moved(const std::function<bool(const key&, const topic&)>& which);
    void lose(std::string reason);

    const profile profile_;
    server_locator where_;
    clock& time_;
    entropy& chance_;
    std::shared_ptr<counters> counts_;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<key, topic, by_name> topics_;
    std::map<key, int, by_name>
        asked_;            ///< SUBSCRIBEs sent or pending whose confirmation is to come.
    std::string pending_;  ///< Bytes of SUBSCRIBE and UNSUBSCRIBE to be written.
    std::string problem_;  ///< Why there is no connection.
    errc problem_code_ = errc::unavailable;
    std::function<void(const std::string&)> moved_;
    std::function<void()> message_;
    bool stopping_ = false;
    bool renewing_ = false;
    bool up_ = false;  ///< There is a connection, so changes go to pending_.
    std::thread thread_;
    event nudge_;  ///< Wakes the thread, …
    event poke_;   ///< … and a caller that reads.

    enum class role : std::uint8_t { nobody, thread, caller };
    role reader_ = role::thread;
    int lone_callers_ = 0;  ///< In a row, who would have read for themselves alone.
    bool give_up_reading_ = false;

    // The reader's.
    time_point last_round_{};
    std::unique_ptr<wire> connection_;
    std::string out_;
    std::size_t out_sent_ = 0;
    duration backoff_{};
    time_point heard_at_{};
    bool pinged_ = false;
};

}  // namespace holdfast::redis
