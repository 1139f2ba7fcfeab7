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
/// statement is in the dialect (sql_statements.hpp). Further statements may be given to it when it
/// is made: tasks are kept so (src/tasks). They are numbered behind those of the leases.
namespace holdfast::sql {

enum class sentence : std::uint8_t;

/// A value of a statement: a number or a text.
class value {
public:
    value() noexcept = default;                                               ///< The number 0.
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

/// One of several statements that are run together, and what came of it.
struct call {
    sentence what = {};
    std::span<const value> values = {};
    const row_reader* reader = nullptr;  ///< Null: no row is expected.
    std::int64_t rows = 0;               ///< As run() answers.
    std::int64_t told = 0;               ///< As told() answers after it.
};

/// Thread safety: one thread at a time.
class connection {
public:
    virtual ~connection() = default;

    /// A statement costs a round trip to a server, and a transaction locks the rows that it reads
    /// by sentence::gate, not the database. A gate that is free stays in its table until it is
    /// swept, which notes the largest fence in holdfast_meta.
    [[nodiscard]] virtual bool is_remote() const noexcept { return false; }

    /// Connects if need be, and sets how long what follows may take.
    /// Errors: whatever keeps the database from being used; the detail is one sentence.
    [[nodiscard]] virtual result<void> ready(time_point give_up) = 0;

    /// Begins a transaction that writes. None other does until it ends; or, on a server, none other
    /// writes what belongs to a name whose gate this one has read.
    [[nodiscard]] virtual result<void> begin() = 0;
    /// Errors: outcome_unknown, if it may have been carried out; otherwise nothing was.
    [[nodiscard]] virtual result<void> commit() = 0;
    virtual void roll_back() noexcept = 0;

    /// Runs a statement to its end; by itself if no transaction was begun. Answers how many rows
    /// it changed or read.
    [[nodiscard]] virtual result<std::int64_t> run(sentence what, std::span<const value> values,
                                                   const row_reader& reader) = 0;

    /// Runs them in their order, in one round trip where a statement costs one.
    /// Errors: of the first that failed; those behind it did not run.
    [[nodiscard]] virtual result<void> run_all(std::span<call> calls) {
        static const row_reader no_rows = [](const row&) {};
        for (call& one : calls) {
            const auto done =
                run(one.what, one.values, one.reader != nullptr ? *one.reader : no_rows);
            if (!done) return std::unexpected(done.error());
            one.rows = *done;
            one.told = told();
        }
        return {};
    }

    /// In a transaction: runs a statement of which nothing is to be known but that it was carried
    /// out. What it fails with may be told by the next statement, or by commit().
    [[nodiscard]] virtual result<void> write(sentence what, std::span<const value> values) {
        const auto done = run(what, values, [](const row&) {});
        return done ? result<void>() : std::unexpected(done.error());
    }

    /// Whether the last error was a conflict with another transaction: a deadlock, a serialization
    /// failure. Nothing was done, and the same again may succeed.
    [[nodiscard]] virtual bool lost_conflict() const noexcept { return false; }

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
