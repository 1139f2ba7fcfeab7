// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

/// A connection to one database, as the leases need it: the driver's half of the SQL family.
///
/// It runs the statements of sql_statements.hpp, which it has prepared once, each with its values,
/// and says in our own words what went wrong. What differs between databases in the text of a
/// statement is in the dialect.
namespace holdfast::sql {

enum class sentence : std::uint8_t;

/// What differs in the text of statements.
struct dialect {
    /// The time in microseconds since 1970, the same for all of a transaction that has begun to
    /// write, never going back from one transaction to the next.
    std::string now;
    /// A function that answers its one argument, a number, and leaves it for connection::told(). A
    /// statement with RETURNING would do as well, and take SQLite a table more.
    std::string tell;
    /// A text of at most 512 bytes that is compared byte by byte.
    std::string name_type;
    /// What follows the columns of a table whose primary key is how its rows are stored.
    std::string by_key;
};

/// A value of a statement: a number or a text.
class value {
public:
    value(std::int64_t number) noexcept : number_(number) {}                  // NOLINT: it is meant
    value(std::string_view text) noexcept : text_(text), is_text_(true) {}    // NOLINT: to convert
    value(const std::string& text) noexcept : text_(text), is_text_(true) {}  // NOLINT: silently

    [[nodiscard]] bool is_text() const noexcept { return is_text_; }
    [[nodiscard]] std::int64_t number() const noexcept { return number_; }
    [[nodiscard]] std::string_view text() const noexcept { return text_; }

private:
    std::int64_t number_ = 0;
    std::string_view text_;
    bool is_text_ = false;
};

/// The row that a statement stands at. Texts live until the reader returns.
class row {
public:
    virtual ~row() = default;
    [[nodiscard]] virtual bool is_null(int column) const = 0;
    [[nodiscard]] virtual std::int64_t number(int column) const = 0;
    [[nodiscard]] virtual std::string_view text(int column) const = 0;
};

using row_reader = std::function<void(const row&)>;

/// Thread safety: one thread at a time.
class connection {
public:
    virtual ~connection() = default;

    /// Connects if need be, and sets how long what follows may take.
    /// Errors: whatever keeps the database from being used; the detail is one sentence.
    [[nodiscard]] virtual result<void> ready(time_point give_up) = 0;

    /// Begins a transaction that writes: none other does until it ends.
    [[nodiscard]] virtual result<void> begin() = 0;
    /// Errors: outcome_unknown, if it may have been carried out; otherwise nothing was.
    [[nodiscard]] virtual result<void> commit() = 0;
    virtual void roll_back() noexcept = 0;

    /// Runs a statement to its end; by itself if no transaction was begun. Answers how many rows
    /// it changed or read.
    [[nodiscard]] virtual result<std::int64_t> run(sentence what, std::span<const value> values,
                                                   const row_reader& reader) = 0;

    /// The last number that the statement which ran last told. Of a row that it then did not write
    /// it says nothing.
    [[nodiscard]] virtual std::int64_t told() const noexcept = 0;

    /// This process, by the number that its stores have in the tables. Called once, at first.
    virtual void announce(std::int64_t process) = 0;
    /// Whether a process that announced itself may still live. True if nobody can say.
    [[nodiscard]] virtual bool may_live(std::int64_t process) = 0;

    /// The database's time of day.
    [[nodiscard]] virtual result<wall_time> time_of_day() = 0;
};

}  // namespace holdfast::sql
