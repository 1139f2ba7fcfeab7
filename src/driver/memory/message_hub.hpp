// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/hash_bytes.hpp"

#include <holdfast/engine/command_engine.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

/// Who hears which channel, and the delivery of messages to them.
///
/// A message is counted and queued while the engine's mutex is held (`post`), so that all hear
/// messages in the order of the commands, and handed to the handlers afterwards (`deliver`), by one
/// thread at a time: the publisher that comes first delivers also what others post meanwhile.
/// Handlers therefore never run at the same time, as if the engine had one thread for them.
///
/// The rule for ending a subscription: its destructor waits for a call of its handler that runs on
/// another thread. Inside a handler it never waits (no other handler can be running), so a handler
/// may end its own subscription or any other. What remains the caller's duty: do not hold, while
/// ending a subscription, a mutex that its handler takes.
///
/// A handler that throws ends the process.
///
/// Outside a cluster a sharded channel is a channel like any other: there is one directory.
///
/// Bounded: a subscription that lags by `most_pending` messages hears a gap instead of the rest.
///
/// Thread safety: all members; `post`, `receivers` and `channels` answer for the moment.
namespace holdfast::memory {

class message_hub {
public:
    static constexpr std::size_t most_pending = 65536;

    /// The handler's side of a subscription.
    struct listener {
        listener(std::string_view c, push_handler h) : channel(c), handler(std::move(h)) {}
        const std::string channel;
        const push_handler handler;
        std::size_t pending = 0;  // guarded by the hub's mutex, as the rest
        bool gap_pending = false;
        bool ended = false;
    };

    [[nodiscard]] std::shared_ptr<listener> add(std::string_view channel, push_handler handler);
    /// Blocks: while the handler runs on another thread.
    void end(const std::shared_ptr<listener>& l) noexcept;

    /// Queues a message for all who hear the channel; answers how many.
    std::size_t post(std::string_view channel, std::string_view payload);

    /// Hands out what was posted, unless another thread is at it. Call without any lock.
    void deliver() noexcept {
        if (pending_.load(std::memory_order_acquire) != 0) drain();
    }

    [[nodiscard]] std::size_t receivers(std::string_view channel) const;
    [[nodiscard]] std::vector<std::string> channels() const;

private:
    struct text_hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept { return hash_bytes(text, 0); }
    };
    using directory = std::unordered_map<std::string, std::vector<std::shared_ptr<listener>>,
                                         text_hash, std::equal_to<>>;
    struct message {
        std::shared_ptr<listener> to;
        std::shared_ptr<const std::string> payload;  // null: a gap
    };

    void drain() noexcept;
    [[nodiscard]] bool take(message& next);
    static void deliver(const message& m);

    mutable std::mutex mutex_;
    directory listeners_;
    std::deque<message> queue_;
    std::atomic<std::size_t> pending_{0};
    std::condition_variable handler_returned_;
    const listener* running_ = nullptr;
    bool delivering_ = false;
    std::thread::id deliverer_;
};

}  // namespace holdfast::memory
