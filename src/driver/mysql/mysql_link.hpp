// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/mysql/mysql_errors.hpp"
#include "driver/mysql/mysql_options.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

struct st_mysql;
struct st_mysql_res;
struct st_mysql_stmt;
struct st_mysql_bind;

/// One socket to a MariaDB or MySQL server, on which nothing takes longer than it may.
///
/// The library's blocking calls know whole seconds only, so those that do not block are used, with
/// poll(2) between them. Looking up a host's name is the exception: the library has no other way.
namespace holdfast::mysql {

/// What one statement of several answered.
struct statement_result {
    st_mysql_res* rows = nullptr;  ///< Null: it answers no rows. Valid during the call.
    std::int64_t changed = 0;      ///< Rows that it changed, or read.
    std::int64_t told = 0;         ///< The last number that LAST_INSERT_ID() was given.
};
using result_reader = std::function<void(const statement_result&)>;

struct free_statement {
    void operator()(st_mysql_stmt* one) const noexcept;
};
/// A statement that the server has prepared.
using prepared_statement = std::unique_ptr<st_mysql_stmt, free_statement>;

/// Thread safety: one thread at a time.
class mysql_link {
public:
    /// By the machine's clock, like all deadlines here.
    explicit mysql_link(const mysql_options& options);

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

    /// Runs statements in one round trip; those behind one that failed are not run.
    /// Errors: of the server in its own words; a lost connection is closed (is_open).
    [[nodiscard]] std::expected<void, complaint> ask(const std::string& text,
                                                     const result_reader& each,
                                                     time_point deadline);

    [[nodiscard]] std::expected<prepared_statement, complaint> prepare(const std::string& text,
                                                                       time_point deadline);
    /// Requires: it was prepared on this link, answers no rows, and has as many values.
    [[nodiscard]] std::expected<statement_result, complaint> execute(
        st_mysql_stmt* what, std::span<st_mysql_bind> values, time_point deadline);

    /// From now on: whatever is waited for is given up, as at its deadline, once `fd` can be read.
    void give_up_by(int fd) noexcept { closing_ = fd; }

    [[nodiscard]] int socket() const noexcept;
    [[nodiscard]] const std::string& label() const noexcept { return label_; }

private:
    struct closer {
        void operator()(st_mysql* db) const noexcept;
    };
    [[nodiscard]] result<void> open_one(const server_address& at, time_point deadline);
    [[nodiscard]] result<void> set_up(time_point deadline);
    /// What became of what was asked for, as the library's calls take it.
    [[nodiscard]] int wait(int wanted, time_point deadline) const;
    [[nodiscard]] std::expected<void, complaint> read_one(const result_reader& each,
                                                          time_point deadline);
    /// What went wrong; a lost connection is closed.
    [[nodiscard]] complaint trouble();
    [[nodiscard]] complaint trouble_of(st_mysql_stmt* what);

    const mysql_options& options_;
    const std::string label_;
    int closing_ = -1;
    std::unique_ptr<st_mysql, closer> db_;
};

}  // namespace holdfast::mysql
