// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/postgresql/postgresql_link.hpp"
#include "lease/tables/name_book.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

/// A connection that LISTENs, on a thread of its own: how a store hears from other processes.
///
/// Each store has a channel, `holdfast_<process>_<store>`. A release that hands a name to one of
/// its waiters NOTIFYs that channel in the same transaction, so that the note arrives when the name
/// is the waiter's. A connection that is lost is made again, and then every waiter looks, because
/// notes may have been missed.
namespace holdfast::postgresql {

class postgresql_listener {
public:
    /// The options outlive it. Starts nothing yet.
    explicit postgresql_listener(const postgresql_options& options);
    postgresql_listener(const postgresql_listener&) = delete;
    postgresql_listener& operator=(const postgresql_listener&) = delete;
    ~postgresql_listener();

    /// Blocks: until notes for that store arrive, at most until `deadline` by the machine's clock.
    /// Always the same store. Errors: why they cannot.
    [[nodiscard]] result<void> hear(const sql::listener_id& whose, time_point deadline);

    /// In a child of fork(): forgets the thread, which does not exist there.
    void forget() noexcept;

private:
    struct state;
    static void run(const std::shared_ptr<state>& all);

    std::shared_ptr<state> state_;
    std::thread thread_;
};

/// The note in a NOTIFY's text: "number owner fence claim". Nothing if it is none of ours.
[[nodiscard]] std::optional<sql::note> read_note(std::int64_t process, std::string_view text);

}  // namespace holdfast::postgresql
