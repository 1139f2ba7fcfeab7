// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/lease_store.hpp>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

/// A thread that carries out what must not keep its caller waiting, one batch after the other.
namespace holdfast::sql {

class submit_thread {
public:
    struct job {
        std::vector<lease_request> requests;
        time_point give_up;
        lease_store::reply_handler on_reply;
    };
    using exchange = std::function<void(std::span<const lease_request>,
                                        std::span<result<lease_reply>>, time_point)>;

    /// So many requests may wait.
    static constexpr std::size_t most_requests = 100'000;

    explicit submit_thread(exchange carry_out);
    submit_thread(const submit_thread&) = delete;
    submit_thread& operator=(const submit_thread&) = delete;
    /// Carries out what waits, each in the time that it was given. May run on the lane's own
    /// thread, because the last reply's handler may hold the last reference: then what waits is
    /// refused.
    ~submit_thread();

    /// The thread is made by the first. One too many is answered with unavailable.
    void add(job next);

    /// In a child of fork(): forgets the thread, which does not exist there.
    void forget() noexcept;

private:
    struct state;
    static void run(const std::shared_ptr<state>& all);

    std::shared_ptr<state> state_;
    std::thread thread_;
};

}  // namespace holdfast::sql
