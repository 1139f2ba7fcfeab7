// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/postgresql/postgresql_errors.hpp"
#include "driver/postgresql/postgresql_options.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <memory>
#include <optional>
#include <string>

struct pg_conn;
struct pg_result;

/// One socket to a PostgreSQL server, on which nothing takes longer than it may.
///
/// libpq's blocking calls have no deadline, so only those that do not block are used, with poll(2)
/// between them. Looking up a host's name is the exception: libpq has no other way.
namespace holdfast::postgresql {

struct free_result {
    void operator()(pg_result* one) const noexcept;
};
using answer_set = std::unique_ptr<pg_result, free_result>;

/// Thread safety: one thread at a time.
class postgresql_link {
public:
    /// By the machine's clock, like all deadlines here.
    explicit postgresql_link(const postgresql_options& options);

    /// Connects to the first server that serves, and sets what every session of ours needs. With
    /// several servers, the first one that can be written.
    [[nodiscard]] result<void> open(time_point deadline);
    [[nodiscard]] bool is_open() const noexcept { return db_ != nullptr; }
    void close() noexcept { db_.reset(); }
    /// Whether the server has said nothing since: whatever it says to an idle connection is that
    /// it ends it.
    [[nodiscard]] bool is_quiet() const;
    /// In a child of fork(): leaves the socket to the parent.
    void forget() noexcept { static_cast<void>(db_.release()); }

    /// Runs statements without values, all or none. What the last one answered.
    /// Errors: of the server in its own words; a lost connection has no state, and is closed.
    [[nodiscard]] std::expected<answer_set, complaint> ask(const std::string& text,
                                                           time_point deadline);

    /// The next result of what was sent; null at the end of each statement's.
    [[nodiscard]] std::expected<answer_set, complaint> next(time_point deadline);

    /// From now on: whatever is waited for is given up, as at its deadline, once `fd` can be read.
    void give_up_by(int fd) noexcept { closing_ = fd; }

    [[nodiscard]] pg_conn* get() const noexcept { return db_.get(); }
    [[nodiscard]] int socket() const noexcept;
    [[nodiscard]] const std::string& label() const noexcept { return label_; }

private:
    struct closer {
        void operator()(pg_conn* db) const noexcept;
    };
    [[nodiscard]] result<void> open_one(const server_address& at, time_point deadline);
    [[nodiscard]] result<void> set_up(time_point deadline);
    [[nodiscard]] bool wait(short events, time_point deadline) const;
    [[nodiscard]] complaint lost(std::string_view why);

    const postgresql_options& options_;
    const std::string label_;
    int closing_ = -1;
    std::unique_ptr<pg_conn, closer> db_;
};

/// What a failed result says.
[[nodiscard]] complaint complaint_of(const pg_result* one);

}  // namespace holdfast::postgresql
