// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/tables/name_book.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <memory>
#include <string>
#include <thread>

/// A thread with a connection of its own, on which a store hears from other processes.
///
/// A connection that is lost is made again, and then every waiter polls, because notes may have
/// been missed.
namespace holdfast::sql {

/// The driver's half: the connection that listens.
/// Thread safety: one thread at a time.
class listening_connection {
public:
    virtual ~listening_connection() = default;
    /// Connects, and makes notes for that store arrive.
    [[nodiscard]] virtual result<void> connect(const listener_id& whose) = 0;
    /// Tells (wake_hub.hpp) what arrives, until the connection is lost or `closing`, an eventfd,
    /// can be read.
    virtual void attend(const listener_id& whose, int closing) = 0;
    virtual void close() noexcept = 0;
    /// What errors call the database.
    [[nodiscard]] virtual const std::string& label() const noexcept = 0;
};

class listener_thread {
public:
    /// Starts nothing yet.
    explicit listener_thread(std::unique_ptr<listening_connection> by);
    listener_thread(const listener_thread&) = delete;
    listener_thread& operator=(const listener_thread&) = delete;
    ~listener_thread();

    /// Blocks: until notes for that store arrive, at most until `deadline` by the machine's clock.
    /// Always the same store. Errors: why they cannot.
    [[nodiscard]] result<void> hear(const listener_id& whose, time_point deadline);

    /// In a child of fork(): forgets the thread, which does not exist there.
    void forget() noexcept;

private:
    struct state;
    static void run(const std::shared_ptr<state>& all);

    std::shared_ptr<state> state_;
    std::thread thread_;
};

/// Waits until `fd` can be read: true; or until `closing` can, or the time is over.
[[nodiscard]] bool wait_to_read(int fd, int closing, duration at_most);

}  // namespace holdfast::sql
