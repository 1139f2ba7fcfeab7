// SPDX-License-Identifier: Apache-2.0
#include "engine/sqlite/sqlite_connection.hpp"

#include "engine/sqlite/sqlite_trouble.hpp"

#include <fmt/format.h>

#include <sqlite3.h>

#include <algorithm>
#include <fstream>
#include <thread>
#include <utility>

namespace holdfast::sqlite {
namespace {

using std::chrono::microseconds;

// How often the time is written down, and how much more than that a new boot adds to it.
constexpr std::int64_t note_pause = 60'000'000;

// How long a look at the file's name in its directory is good for: it costs as much as a lock.
constexpr duration look_pause = std::chrono::milliseconds(1);

std::int64_t clock_micros(const clock& time) {
    return std::chrono::floor<microseconds>(time.now().time_since_epoch()).count();
}

// Which clock it is: the machine's since its boot, or a test's own.
std::string clock_name(const clock& time) {
    if (&time != &system_clock()) return "a clock of a test";
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    file >> id;
    return id.empty() ? "unknown boot" : id;
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
            ::sqlite3_bind_text(statement, i + 1, one.text().data(),
                                static_cast<int>(one.text().size()), SQLITE_STATIC);
        } else {
            ::sqlite3_bind_int64(statement, i + 1, one.number());
        }
    }
}

}  // namespace

sql::dialect sqlite_dialect() {
    return {.now = "holdfast_now()",
            .tell = "holdfast_tell",
            .name_type = "TEXT COLLATE BINARY",
            .by_key = " WITHOUT ROWID"};
}

void sqlite_connection::finalizer::operator()(sqlite3_stmt* statement) const noexcept {
    ::sqlite3_finalize(statement);
}

sqlite_connection::sqlite_connection(sqlite_options options, clock& time)
    : options_(std::move(options)), clock_(time), texts_(sql::statements(sqlite_dialect())) {}

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
    if (!moment_) moment_ = clock_micros(clock_) + ahead_;
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
    if (!only_read_ && moment() - noted_ > note_pause) note_time();
    return {};
}

// Someone deleted or replaced the file: whoever opens the path now gets another one than we have.
bool sqlite_connection::moved() const {
    int moved = 0;
    ::sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

result<void> sqlite_connection::open() {
    auto opened = open_database(options_, {this, read_moment, take_number, wait_while_busy});
    if (!opened) return std::unexpected(std::move(opened.error()));
    db_ = std::move(opened->db);
    only_read_ = std::move(opened->only_read);
    // Beside the real file: whoever came by a symbolic link must find it there too.
    if (!only_read_) life_.open(::sqlite3_db_filename(db_.get(), "main"));
    return set_clock();
}

// Whoever is first after a boot decides what time it is, for all; never below a time that was seen.
// One that may only read supposes what the first one will decide.
result<void> sqlite_connection::set_clock() {
    const std::string name = clock_name(clock_);
    const std::string& path = options_.path;
    const std::int64_t mine = clock_micros(clock_);
    const std::int64_t day = clock_.wall().time_since_epoch().count();
    const auto first = fmt::format(
        "max({}, {} + ifnull((SELECT max(seen) FROM holdfast_clock), 0), "
        "ifnull((SELECT max(top) FROM holdfast_names), 0)) - {}",
        day, 2 * note_pause, mine);
    const auto told = fmt::format("FROM holdfast_clock WHERE boot = '{}'", name);
    const auto known = ask_number(db_.get(), "SELECT count(*) " + told, path);
    if (!known) return std::unexpected(known.error());
    if (*known == 0 && !only_read_) {
        const auto done = carry_out(
            db_.get(),
            fmt::format("INSERT OR IGNORE INTO holdfast_clock (boot, ahead, seen) SELECT '{}', {}, "
                        "0 WHERE NOT EXISTS (SELECT 1 {})",
                        name, first, told),
            path);
        if (!done && done.error() == errc::corrupt) return done;
        if (!done) only_read_ = done.error();
    }
    const auto found = ask_number(
        db_.get(), fmt::format("SELECT ifnull((SELECT ahead {}), {})", told, first), path);
    if (!found) return std::unexpected(found.error());
    ahead_ = *found;
    moment_.reset();
    noted_ = 0;
    return {};
}

// By the way: a request neither fails nor waits because of it; the next one tries again. Only the
// latest boots matter.
void sqlite_connection::note_time() {
    const time_point patience = std::exchange(patience_, time_point::min());
    const std::int64_t now = moment();
    const auto note =
        fmt::format("UPDATE holdfast_clock SET seen = max(seen, {}) WHERE boot = '{}'", now,
                    clock_name(clock_));
    if (carry_out(db_.get(), note, options_.path)) {
        noted_ = now;
        static_cast<void>(
            carry_out(db_.get(),
                      "DELETE FROM holdfast_clock WHERE boot NOT IN (SELECT boot FROM "
                      "holdfast_clock ORDER BY seen DESC LIMIT 16)",
                      options_.path));
    }
    patience_ = patience;
    moment_.reset();
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
              fmt::format("sqlite:{}: closed after an error; it is opened anew", options_.path)});
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
