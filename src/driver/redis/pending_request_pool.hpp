// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/redis/pending_request.hpp"

#include <memory>
#include <mutex>

/// Tickets of submitted commands, used again with the room that their strings have.
///
/// They are taken on the submitting thread and come back on the link's: freed there, each would
/// cost the allocator a way across threads.
namespace holdfast::redis {

/// Thread safety: all members may be called from any thread.
class pending_request_pool {
public:
    pending_request_pool() = default;
    pending_request_pool(const pending_request_pool&) = delete;
    pending_request_pool& operator=(const pending_request_pool&) = delete;
    ~pending_request_pool() { destroy(idle_); }

    [[nodiscard]] std::unique_ptr<async_ticket> take() {
        {
            const std::scoped_lock guard(mutex_);
            if (pending_request* const t = idle_.pop_front()) {
                --count_;
                return std::unique_ptr<async_ticket>(static_cast<async_ticket*>(t));
            }
        }
        return std::make_unique<async_ticket>();
    }

    /// Requires: only async_tickets, that nobody else uses any more.
    void give_back(ticket_list& spent) {
        ticket_list kept;
        std::size_t more = 0;
        while (pending_request* const t = spent.pop_front()) {
            auto one = std::unique_ptr<async_ticket>(static_cast<async_ticket*>(t));
            if (more == most_idle || one->storage.capacity() > largest_kept) continue;
            one->clear();
            kept.push_back(*one.release());
            ++more;
        }
        const std::scoped_lock guard(mutex_);
        if (count_ + more > most_idle) return destroy(kept);
        idle_.splice(kept);
        count_ += more;
    }

private:
    static constexpr std::size_t most_idle = 256;
    static constexpr std::size_t largest_kept = 4096;

    static void destroy(ticket_list& list) {
        while (pending_request* const t = list.pop_front()) delete static_cast<async_ticket*>(t);
    }

    std::mutex mutex_;
    ticket_list idle_;
    std::size_t count_ = 0;
};

}  // namespace holdfast::redis
