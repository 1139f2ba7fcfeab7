// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/commands/lease_keys.hpp"

#include <holdfast/engine/command_engine.hpp>
#include <holdfast/engine/lease_store.hpp>
#include <holdfast/entropy.hpp>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

/// Where this client is told of its grants: one channel for all names; in a Cluster one for each
/// slot in which somebody waits, so that the node which grants can tell it.
///
/// A message is only the fast way: a waiter that misses it looks again within a second.
namespace holdfast {

class grant_channels {
public:
    grant_channels(command_engine& engine, entropy& chance, key_scope scope);
    ~grant_channels();

    /// Names the channels after the client, so that whoever evicts one of its leases can tell it.
    /// Told once, before the first listen().
    void introduce(const client_id& id);

    /// What the name of any client's channel for this lock's key begins with.
    [[nodiscard]] std::string prefix_for(std::string_view lock) const;

    /// Set once, before the first listen().
    void on_push(lease_store::push_handler handler);

    /// The channel for a lock's key, heard from now on. If subscribing fails, waiters look again by
    /// themselves, and the next one that comes tries again. Lives as long as this.
    /// Blocks: until the server has confirmed, at most until `give_up`.
    [[nodiscard]] std::string_view listen(std::string_view lock, time_point give_up);

    /// Is the one channel for all names heard? In a Cluster there is none.
    [[nodiscard]] bool heard() const noexcept {
        return global_.heard.load(std::memory_order_relaxed);
    }

    /// The same without waiting: `then` is called once with the channel, at once if it is heard
    /// already, else on a thread of this object; at the latest by the destructor.
    void when_heard(std::string_view lock, time_point give_up,
                    std::function<void(std::string_view)> then);

private:
    struct channel {
        std::string name;
        std::atomic<bool> heard = false;
        std::mutex subscribing;
        std::unique_ptr<subscription> line;
    };

    struct operation {
        std::string lock;
        time_point give_up;
        std::function<void(std::string_view)> then;
    };

    [[nodiscard]] channel& channel_for(std::string_view lock);
    void subscribe_for_others(const std::stop_token& stop);
    void hear(const push_event& event);

    command_engine& engine_;
    const key_scope scope_;
    std::string id_;
    lease_store::push_handler handler_;
    channel global_;
    std::mutex mutex_;
    std::map<unsigned, channel> by_slot_;
    std::condition_variable_any operations_changed_;
    std::deque<operation> operations_;
    std::jthread
        subscriber_;  // started by the first operation; the last member, so that it ends first
};

}  // namespace holdfast
