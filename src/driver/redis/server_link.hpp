// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/redis/counters.hpp"
#include "driver/redis/link.hpp"
#include "driver/redis/session.hpp"
#include "driver/redis/subscriber.hpp"

#include <holdfast/engine/command_engine.hpp>
#include <holdfast/redis/redis.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

/// Everything for one server: its shared connections, its sessions, its subscriber.
///
/// An engine routes to one of these (standalone, Sentinel) or to many (Cluster). Where the server
/// is, the locator says anew at each connect.
namespace holdfast::redis {

/// Thread safety: all members may be called from any thread.
class server_link {
public:
    server_link(profile p, server_locator where, clock& time, entropy& chance);
    ~server_link();
    server_link(const server_link&) = delete;
    server_link& operator=(const server_link&) = delete;

    /// As command_engine's, for this server.
    void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                  time_point give_up);
    void submit(const command& c, time_point give_up, command_engine::completion done);
    void submit_together(std::span<const command> commands, time_point give_up,
                         command_engine::joint_completion done);
    [[nodiscard]] result<reply> transaction(std::span<const command> commands, time_point give_up);
    [[nodiscard]] result<std::unique_ptr<command_session>> open_session(time_point give_up);
    [[nodiscard]] result<std::unique_ptr<subscription>> subscribe(std::string_view channel,
                                                                  channel_scope scope,
                                                                  push_handler handler,
                                                                  time_point give_up);
    [[nodiscard]] result<std::unique_ptr<subscription>> watch_keys(std::string_view prefix,
                                                                   push_handler handler,
                                                                   time_point give_up);
    [[nodiscard]] subscriber& subscriptions() noexcept { return *subscriber_; }

    /// exchange() in two halves, so that one thread can ask several servers at once.
    /// Requires: what the spans point to outlives finish(); each flight that was begun is finished.
    struct flight {
        std::span<const command> commands;
        std::span<result<reply>> replies;
        time_point give_up;
        pending_request way{};
        link* on = nullptr;
    };
    void begin(flight& f);
    void finish(flight& f);

    /// Nothing more is written to connections that were made before `moment`, except to those that
    /// lead to `spared`.
    void retire_before(time_point moment, const server_address* spared = nullptr);

    void read(redis_statistics& out) const;

private:
    [[nodiscard]] link& pick() noexcept;
    static void send_off(link& on, std::unique_ptr<async_ticket> t, time_point give_up);
    void run_once(std::span<const command> commands, std::span<result<reply>> replies,
                  time_point give_up, bool patient, bool& lost);
    [[nodiscard]] bool settle(std::span<const command> commands, std::span<result<reply>> replies,
                              time_point give_up, bool lost);
    void repair_scripts(std::span<const command> commands, std::span<result<reply>> replies,
                        time_point give_up);
    void load_script(const command& c, result<reply>& answer, time_point give_up);

    [[nodiscard]] std::vector<std::shared_ptr<subscriber>> watchers();

    const profile profile_;
    const server_locator where_;
    clock& time_;
    entropy& chance_;
    std::shared_ptr<counters> counts_;
    std::vector<std::unique_ptr<link>> links_;
    std::atomic<std::size_t> turn_{0};
    std::shared_ptr<session_pool> sessions_;
    std::shared_ptr<subscriber> subscriber_;
    std::mutex mutex_;
    std::vector<std::weak_ptr<subscriber>> watchers_;  ///< Under mutex_; a connection for each.
};

}  // namespace holdfast::redis
