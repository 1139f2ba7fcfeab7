// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/sessions/session_lease_store.hpp"
#include "lease/sessions/session_seat.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

/// What a session_lease_store and its threads share: the seats, and the connections not in use.
namespace holdfast::session {

/// Thread safety: all members may be called from any thread.
class session_lease_store::desk : public std::enable_shared_from_this<desk> {
public:
    desk(connection_maker make, session_options options, clock& time);
    ~desk();

    [[nodiscard]] result<lease_reply> acquire(const ask::acquire& asked, time_point give_up);
    [[nodiscard]] lease_reply renew(const ask::renew& asked, time_point give_up);
    /// Ends what the owner holds or waits for; answers whether there was something.
    [[nodiscard]] bool end(const lock_name& name, const owner_token& owner, time_point give_up);

    void on_push(push_handler handler);

    /// Ends everything, and waits for the threads; not for the one that calls it.
    void close();

private:
    using seat_ref = std::shared_ptr<seat>;
    using line_ref = std::unique_ptr<session_connection>;

    [[nodiscard]] time_point machine_time(time_point give_up) const;
    [[nodiscard]] seat_ref find(const lock_name& name, const owner_token& owner) const;
    [[nodiscard]] std::optional<lease_reply> known(const ask::acquire& asked);
    /// Nothing: all of them are in use.
    [[nodiscard]] line_ref take_line();
    void give_back(line_ref line);
    void add(const seat_ref& one);
    /// Takes a seat that is in `from` off; false if it was not any more.
    [[nodiscard]] bool remove(const seat_ref& one, seat::stand from);
    void lose(const seat_ref& one);
    void push(const lease_push& what);

    void start(void (desk::*work)(const seat_ref&), const seat_ref& with);
    void wait_for_lock(const seat_ref& mine);
    [[nodiscard]] bool has_got(const seat_ref& mine);
    void watch(const seat_ref& /*none*/);
    void wait_for_news();
    void look_at(const seat_ref& one);

    const connection_maker make_;
    const session_options options_;
    clock& clock_;
    const int wake_;  // an eventfd

    mutable std::mutex mutex_;
    std::vector<seat_ref> seats_;
    std::vector<line_ref> idle_;
    std::size_t lines_ = 0;  // that are in use, or idle
    std::size_t threads_ = 0;
    bool watched_ = false;
    bool closing_ = false;
    std::condition_variable ended_;

    std::shared_mutex handler_mutex_;  // shared while the handler runs
    push_handler handler_;
};

}  // namespace holdfast::session
