// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/lease_store.hpp>

#include <functional>
#include <mutex>
#include <thread>
#include <vector>

/// Makes sure that a store hears pushes before an asynchronous waiter stands in its line.
///
/// A store subscribes to its pushes inside the first `exchange` of a waiter, which waits for the
/// server; `submit` may not wait, and a waiter that nobody hears for is passed over at a hand-over.
/// So the first request that stands in line travels by an exchange, on a thread of its own that
/// ends with it; others that come meanwhile wait for it. Once a waiter has been answered, all goes
/// by submit.
namespace holdfast::detail {

class ears {
public:
    using answer_handler = std::function<void(result<lease_reply>)>;

    ears() = default;
    ears(const ears&) = delete;
    ears& operator=(const ears&) = delete;
    ~ears();

    /// Sends one request. `on_reply` is called once, as by lease_store::submit.
    /// Requires: the store lives until close() has returned.
    void submit(lease_store& store, lease_request request, time_point give_up, clock& time,
                answer_handler on_reply);

    /// Waits for the thread, if there is one; afterwards all goes by submit.
    void close();

private:
    enum class state : std::uint8_t { deaf, opening, open };
    struct parked {
        lease_request request;
        time_point give_up;
        answer_handler on_reply;
    };

    void open(lease_store& store, parked first, time_point give_up);

    std::mutex mutex_;
    state state_ = state::deaf;
    std::vector<parked> parked_;
    std::thread thread_;
};

}  // namespace holdfast::detail
