// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/sqlite/clock_table.hpp"
#include "driver/sqlite/process_liveness.hpp"
#include "driver/sqlite/sqlite_errors.hpp"
#include "driver/sqlite/sqlite_open.hpp"
#include "driver/sqlite/sqlite_options.hpp"
#include "lease/tables/sql_connection.hpp"
#include "lease/tables/sql_statements.hpp"

#include <holdfast/clock.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

struct sqlite3_stmt;

/// A connection to a SQLite file: opened when first needed, with every statement prepared once.
///
/// **Why not SOCI.** It would carry the statements, but not what surrounds them: it tells errors by
/// exceptions whose text is all that is left of SQLite's extended codes and errno, it has no busy
/// handler and no functions of one's own but by the native handle behind its back, and it copies
/// every text in and out. The seam above (sql_connection.hpp) is what we would have used of it.
///
/// **Time.** All processes that can open the file share the machine's CLOCK_BOOTTIME, which neither
/// steps nor stops. So the time in the database is that clock, plus a number that the first process
/// after a boot writes down for all: so that it began as the time of day, and above all times that
/// were seen before (clock_choice.hpp). A time of day that is set forward or back therefore changes
/// nothing. What is left is a machine that loses its power and its clock at once.
namespace holdfast::sqlite {

[[nodiscard]] sql::dialect sqlite_dialect();

class sqlite_connection final : public sql::connection {
public:
    /// `further` are run besides the statements of the leases (further_sentence()).
    sqlite_connection(sqlite_options options, clock& time,
                      std::span<const std::string> further = {});
    ~sqlite_connection() override;

    [[nodiscard]] result<void> ready(time_point give_up) override;
    [[nodiscard]] result<void> begin() override;
    [[nodiscard]] result<void> commit() override;
    void roll_back() noexcept override;
    [[nodiscard]] result<std::int64_t> run(sql::sentence what, std::span<const sql::value> values,
                                           const sql::row_reader& reader) override;
    [[nodiscard]] std::int64_t told() const noexcept override { return told_; }
    void announce(std::int64_t process) override;
    [[nodiscard]] bool may_live(std::int64_t process) override;
    [[nodiscard]] result<wall_time> time_of_day() override;

    /// The time that the running statement sees, or all of the running transaction.
    [[nodiscard]] std::int64_t moment();

    /// How far the database's time is ahead of the clock's own; µs. It must be ready.
    [[nodiscard]] std::int64_t ahead() const noexcept { return ahead_; }

private:
    struct finalizer {
        void operator()(sqlite3_stmt* statement) const noexcept;
    };
    using statement = std::unique_ptr<sqlite3_stmt, finalizer>;

    [[nodiscard]] result<void> open();
    void show_life();
    [[nodiscard]] result<void> set_clock();
    [[nodiscard]] result<void> note_time();
    [[nodiscard]] std::unexpected<error> wrong_clock();
    [[nodiscard]] bool moved() const;
    /// What a call failed with; closes what must be opened anew.
    [[nodiscard]] error failed(int code, deed doing);
    [[nodiscard]] error closed() const;
    [[nodiscard]] error unknown() const;
    void close() noexcept;
    [[nodiscard]] result<sqlite3_stmt*> prepared(sql::sentence what);
    [[nodiscard]] static std::int64_t read_moment(void* self);
    static void take_number(void* self, std::int64_t number);
    [[nodiscard]] static int wait_while_busy(void* self, int count);

    const sqlite_options options_;
    process_liveness life_;
    clock& clock_;
    const std::vector<std::string> texts_;
    handle db_;
    std::vector<statement> statements_;  // closed before the database
    std::optional<error> only_read_;     // why it cannot be written, if that is so
    std::optional<error> sick_;          // what it was closed after, until it is opened anew
    bool in_transaction_ = false;
    std::optional<machine_clock> machine_;
    std::int64_t noted_ahead_ = 0;  // of the machine's clock, as the file says
    std::int64_t ahead_ = 0;        // of the clock's own time, µs
    std::int64_t noted_ = 0;        // when the time was last written down
    std::int64_t latest_ = 0;       // the latest time that was told
    std::optional<std::int64_t> moment_;
    std::int64_t told_ = 0;
    time_point looked_;    // whether the file is still the one that was opened
    time_point patience_;  // until when to wait for other processes, by the machine's clock
};

}  // namespace holdfast::sqlite
