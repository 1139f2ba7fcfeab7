// SPDX-License-Identifier: Apache-2.0
#include "driver/sqlite/sqlite_connection.hpp"

#include "driver/sqlite/sqlite_errors.hpp"

#include <fmt/format.h>

#include <sqlite3.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace holdfast::sqlite {
namespace {

using std::chrono::microseconds;

// How long a look at the file's name in its directory is good for: it costs as much as a lock.
constexpr duration look_pause = std::chrono::milliseconds(1);

std::int64_t clock_micros(const clock& time) {
    return std::chrono::floor<microseconds>(time.now().time_since_epoch()).count();
}

class statement_row final : public sql::row {
public:
    explicit statement_row(sqlite3_stmt* at) : at_(at) {}
    [[nodiscard]] bool is_null(int column) const override {
        return ::sqlite3_column_type(at_, column) == SQLITE_NULL;
    }
    [[nodiscard]] std::int64_t number(int column) const override {
        return ::sqlite3_column_int64(at_, column);
    }
    [[nodiscard]] std::string_view text(int column) const override {
        const auto* bytes = ::sqlite3_column_text(at_, column);
        if (bytes == nullptr) return {};
        return {reinterpret_cast<const char*>(bytes),
                static_cast<std::size_t>(::sqlite3_column_bytes(at_, column))};
    }

private:
    sqlite3_stmt* at_;
};

void bind(sqlite3_stmt* statement, std::span<const sql::value> values) {
    for (int i = 0; i < static_cast<int>(values.size()); ++i) {
        const sql::value& one = values[static_cast<std::size_t>(i)];
        if (one.is_text()) {
            // A null pointer would be the value NULL.
            ::sqlite3_bind_text(statement, i + 1, one.text().empty() ? "" : one.text().data(),
                                static_cast<int>(one.text().size()), SQLITE_STATIC);
        } else {
            ::sqlite3_bind_int64(statement, i + 1, one.number());
        }
    }
}

}  // namespace

sql::dialect sqlite_dialect() {
    return {.now = "holdfast_now()",
            .began = "holdfast_now()",
            .tell = "holdfast_tell",
            .name_type = "TEXT COLLATE BINARY",
            .by_key = " WITHOUT ROWID"};
}

void sqlite_connection::finalizer::operator()(sqlite3_stmt* statement) const noexcept {
    ::sqlite3_finalize(statement);
}

sqlite_connection::sqlite_connection(sqlite_options options, clock& time,
                                     std::span<const std::string> further)
    : options_(std::move(options)),
      clock_(time),
      texts_(sql::statements_and(sqlite_dialect(), further)),
      statements_(texts_.size()) {}

sqlite_connection::~sqlite_connection() {
    close();
}

void sqlite_connection::close() noexcept {
    life_.close();
    for (statement& one : statements_) one.reset();
    db_.reset();
    only_read_.reset();
    sick_.reset();
    in_transaction_ = false;
}

std::int64_t sqlite_connection::moment() {
    if (!moment_) {
        moment_ = clock_micros(clock_) + ahead_;
        latest_ = std::max(latest_, *moment_);
    }
    return *moment_;
}

std::int64_t sqlite_connection::read_moment(void* self) {
    return static_cast<sqlite_connection*>(self)->moment();
}

void sqlite_connection::take_number(void* self, std::int64_t number) {
    static_cast<sqlite_connection*>(self)->told_ = number;
}

// Writes are short, so the first pauses are too; they grow to some milliseconds.
int sqlite_connection::wait_while_busy(void* self, int count) {
    const time_point now = system_clock().now();
    const time_point until = static_cast<const sqlite_connection*>(self)->patience_;
    if (now >= until) return 0;
    const microseconds pause(50LL << std::min(count, 6));
    // style: allow clock, because the kernel has no way to wait for another process's lock
    std::this_thread::sleep_for(std::min<duration>(pause, until - now));
    return 1;
}

result<void> sqlite_connection::ready(time_point give_up) {
    const duration left = give_up - clock_.now();
    if (left <= duration::zero()) {
        return fail(errc::unavailable, fmt::format("sqlite:{}: no time was left", options_.path));
    }
    const time_point now = system_clock().now();
    patience_ = now + std::min(left, options_.busy_timeout);
    moment_.reset();
    if (db_ != nullptr && now - looked_ >= look_pause) {
        looked_ = now;
        if (moved()) close();
    }
    if (only_read_) close();  // perhaps it can be written by now
    if (db_ == nullptr) {
        if (auto opened = open(); !opened) {
            close();
            return opened;
        }
    }
    if (only_read_) return {};
    if (moment() < latest_) return wrong_clock();
    return moment() - noted_ > note_pause ? note_time() : result<void>();
}

// Someone deleted or replaced the file: whoever opens the path now gets another one than we have.
bool sqlite_connection::moved() const {
    int moved = 0;
    ::sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

result<void> sqlite_connection::open() {
    auto boot = identify_boot(clock_, options_.boot_id_file);
    if (!boot) {
        return fail(boot.error().code,
                    fmt::format("sqlite:{}: {}", options_.path, boot.error().detail));
    }
    machine_ = machine_clock(clock_, std::move(*boot));
    auto opened = open_database(options_, {this, read_moment, take_number, wait_while_busy});
    if (!opened) return std::unexpected(std::move(opened.error()));
    db_ = std::move(opened->db);
    only_read_ = std::move(opened->only_read);
    if (!only_read_) show_life();
    return set_clock();
}

// Beside the real file: whoever came by a symbolic link must find it there too. Who is not seen to
// use the clock may not write: others could start another one.
void sqlite_connection::show_life() {
    const std::string real = ::sqlite3_db_filename(db_.get(), "main");
    if (const int why = life_.open(real); why != 0) only_read_ = cannot_open(why, real + "-alive");
}

result<void> sqlite_connection::set_clock() {
    const std::string& path = options_.path;
    result<std::int64_t> found;
    if (!only_read_) {
        found = settle_clock(db_.get(), path, *machine_, life_);
        if (!found && found.error() != errc::unavailable && found.error() != errc::denied) {
            return std::unexpected(std::move(found.error()));
        }
        if (!found) only_read_ = found.error();
    }
    if (only_read_) {
        life_.close();
        found = suppose_clock(db_.get(), path, *machine_);
        if (!found) return std::unexpected(std::move(found.error()));
    }
    noted_ahead_ = *found;
    ahead_ = noted_ahead_ - machine_->offset();
    moment_.reset();
    noted_ = latest_ = 0;
    return {};
}

// By the way: a request neither fails nor waits because the file is busy; the next one tries again.
// Errors: unavailable, if the time in the file is not ours any more; it is opened anew.
result<void> sqlite_connection::note_time() {
    const time_point patience = std::exchange(patience_, time_point::min());
    moment_.reset();
    const auto kept = note_clock(db_.get(), options_.path, *machine_, noted_ahead_);
    patience_ = patience;
    if (kept && !*kept) return wrong_clock();
    if (kept) noted_ = moment();
    moment_.reset();
    return {};
}

std::unexpected<error> sqlite_connection::wrong_clock() {
    close();
    return fail(errc::unavailable,
                fmt::format("sqlite:{}: the clock of this file was replaced, or this machine's has "
                            "gone back: it is opened again",
                            options_.path));
}

error sqlite_connection::failed(int code, deed doing) {
    error why = trouble(db_.get(), code, options_.path, doing);
    const int kind = code & 0xFF;
    const bool sick = kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB || kind == SQLITE_IOERR ||
                      kind == SQLITE_CANTOPEN;
    if (sick && !in_transaction_) {
        close();
        sick_ = why;
    }
    return why;
}

// After trouble with the file, what follows in the same turn finds it closed: by that trouble.
error sqlite_connection::closed() const {
    return sick_.value_or(
        error{errc::unavailable,
              fmt::format("sqlite:{}: closed after an error; it is opened again", options_.path)});
}

error sqlite_connection::unknown() const {
    return {errc::outcome_unknown,
            fmt::format("sqlite:{}: writing failed at its end: it may have been carried out",
                        options_.path)};
}

result<void> sqlite_connection::begin() {
    if (db_ == nullptr) return std::unexpected(closed());
    if (only_read_) return std::unexpected(*only_read_);
    moment_.reset();
    const int code = ::sqlite3_exec(db_.get(), "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return std::unexpected(failed(code, deed::writing));
    in_transaction_ = true;
    return {};
}

result<void> sqlite_connection::commit() {
    const int code = ::sqlite3_exec(db_.get(), "COMMIT", nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) {
        in_transaction_ = false;
        return {};
    }
    error why = trouble(db_.get(), code, options_.path, deed::writing);
    // A log that was written but not synced may count after all.
    if ((code & 0xFF) == SQLITE_IOERR) why = unknown();
    roll_back();
    return std::unexpected(std::move(why));
}

void sqlite_connection::roll_back() noexcept {
    // SQLite may have rolled back by itself.
    if (db_ != nullptr && ::sqlite3_get_autocommit(db_.get()) == 0) {
        ::sqlite3_exec(db_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    }
    in_transaction_ = false;
}

result<sqlite3_stmt*> sqlite_connection::prepared(sql::sentence what) {
    if (db_ == nullptr) return std::unexpected(closed());
    statement& one = statements_[static_cast<std::size_t>(what)];
    if (one != nullptr) return one.get();
    const std::string& text = texts_[static_cast<std::size_t>(what)];
    sqlite3_stmt* made = nullptr;
    const int code =
        ::sqlite3_prepare_v3(db_.get(), text.c_str(), static_cast<int>(text.size()) + 1,
                             SQLITE_PREPARE_PERSISTENT, &made, nullptr);
    if (code != SQLITE_OK) return std::unexpected(failed(code, deed::opening));
    one.reset(made);
    return made;
}

result<std::int64_t> sqlite_connection::run(sql::sentence what, std::span<const sql::value> values,
                                            const sql::row_reader& reader) {
    const auto found = prepared(what);
    if (!found) return std::unexpected(found.error());
    sqlite3_stmt* const ran = *found;
    const bool writes = ::sqlite3_stmt_readonly(ran) == 0;
    if (writes && only_read_) return std::unexpected(*only_read_);
    if (!in_transaction_) moment_.reset();
    bind(ran, values);
    std::int64_t rows = 0;
    int code = ::sqlite3_step(ran);
    for (; code == SQLITE_ROW; code = ::sqlite3_step(ran)) {
        ++rows;
        reader(statement_row(ran));
    }
    if (code != SQLITE_DONE) {
        ::sqlite3_reset(ran);
        ::sqlite3_clear_bindings(ran);
        error why = failed(code, writes ? deed::writing : deed::reading);
        if (writes && !in_transaction_ && (code & 0xFF) == SQLITE_IOERR) why = unknown();
        return std::unexpected(std::move(why));
    }
    if (writes) rows = ::sqlite3_changes64(db_.get());
    ::sqlite3_reset(ran);
    ::sqlite3_clear_bindings(ran);
    return rows;
}

void sqlite_connection::announce(std::int64_t process) {
    life_.announce(process);
}

bool sqlite_connection::may_live(std::int64_t process) {
    return life_.may_live(process);
}

result<wall_time> sqlite_connection::time_of_day() {
    return clock_.wall();
}

}  // namespace holdfast::sqlite
