// SPDX-License-Identifier: Apache-2.0
#include "driver/sqlite/clock_table.hpp"

#include "driver/sqlite/sqlite_errors.hpp"
#include "driver/sqlite/sqlite_open.hpp"

#include <fmt/format.h>

#include <sqlite3.h>

#include <array>

namespace holdfast::sqlite {
namespace {

using std::chrono::microseconds;

result<std::optional<noted_clock>> load(sqlite3* db, const std::string& path) {
    sqlite3_stmt* statement = nullptr;
    int code = ::sqlite3_prepare_v2(db, "SELECT boot, ahead, seen, born FROM holdfast_clock", -1,
                                    &statement, nullptr);
    std::optional<noted_clock> found;
    if (code == SQLITE_OK) {
        code = ::sqlite3_step(statement);
        if (code == SQLITE_ROW) {
            const auto* boot = ::sqlite3_column_text(statement, 0);
            found = {.boot = boot == nullptr ? "" : reinterpret_cast<const char*>(boot),
                     .ahead = ::sqlite3_column_int64(statement, 1),
                     .seen = ::sqlite3_column_int64(statement, 2),
                     .born = ::sqlite3_column_int64(statement, 3)};
        }
    }
    result<std::optional<noted_clock>> answer = std::move(found);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        answer = std::unexpected(trouble(db, code, path, deed::opening));
    }
    ::sqlite3_finalize(statement);
    return answer;
}

// The clock is read last: what others noted before is not ahead of it.
result<clock_question> ask(sqlite3* db, const std::string& path, const machine_clock& mine,
                           bool used_by_others) {
    auto noted = load(db, path);
    if (!noted) return std::unexpected(std::move(noted.error()));
    return clock_question{
        .noted = std::move(*noted), .now = mine.read(), .used_by_others = used_by_others};
}

// The largest fence matters only where a clock is started; to find it takes a walk over all names.
result<clock_choice> choose(sqlite3* db, const std::string& path, clock_question& asked) {
    const clock_choice chosen = choose_clock(asked);
    if (chosen.verdict != clock_verdict::start) return chosen;
    const auto top = ask_number(db, "SELECT ifnull(max(top), 0) FROM holdfast_names", path);
    if (!top) return std::unexpected(top.error());
    asked.largest_fence = *top;
    return choose_clock(asked);
}

result<void> start(sqlite3* db, const std::string& path, const clock_reading& now,
                   const clock_choice& chosen) {
    const std::int64_t time = now.since_boot + chosen.ahead;
    const std::int64_t before = time - chosen.shift;
    const std::array<std::string, 4> steps{
        fmt::format("INSERT OR REPLACE INTO holdfast_clock (one, boot, ahead, seen, born) "
                    "VALUES (1, '{}', {}, {}, {})",
                    now.boot, chosen.ahead, time, now.day - now.since_boot),
        fmt::format("UPDATE holdfast_names SET expires = expires + {} WHERE expires > {}",
                    chosen.shift, before),
        fmt::format("UPDATE holdfast_parties SET until = until + {} WHERE until > {}", chosen.shift,
                    before),
        fmt::format("UPDATE holdfast_keys SET expires_ms = expires_ms + {} WHERE expires_ms > {}",
                    chosen.shift / 1000, before / 1000),
    };
    const std::size_t count = chosen.shift == 0 ? 1 : steps.size();
    for (std::size_t i = 0; i < count; ++i) {
        if (auto done = carry_out(db, steps[i], path); !done) return done;
    }
    return {};
}

std::unexpected<error> another_clock(const std::string& path, std::int64_t behind) {
    return fail(errc::unsupported,
                fmt::format("sqlite:{}: others use this file by a clock since the boot that is {} "
                            "s ahead of this process's: start them all on one machine, without "
                            "clocks of their own",
                            path, behind / 1'000'000));
}

result<std::int64_t> settle(sqlite3* db, const std::string& path, const machine_clock& mine,
                            process_liveness& life) {
    auto asked = ask(db, path, mine, life.others_use_clock());
    if (!asked) return std::unexpected(std::move(asked.error()));
    const auto chosen = choose(db, path, *asked);
    if (!chosen) return std::unexpected(chosen.error());
    if (chosen->verdict == clock_verdict::refuse) return another_clock(path, chosen->behind);
    if (chosen->verdict == clock_verdict::start) {
        if (auto done = start(db, path, asked->now, *chosen); !done) {
            return std::unexpected(std::move(done.error()));
        }
    }
    if (!life.use_clock()) {
        return fail(
            errc::unavailable,
            fmt::format("sqlite:{}: the file beside it, {}-alive, cannot be locked", path, path));
    }
    return chosen->ahead;
}

}  // namespace

clock_reading machine_clock::read() const {
    const auto since = std::chrono::floor<microseconds>(time_->now().time_since_epoch());
    return {.boot = boot_.boot,
            .since_boot = since.count() - boot_.offset,
            .day = time_->wall().time_since_epoch().count()};
}

std::string clock_schema() {
    return "CREATE TABLE holdfast_clock (one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), "
           "boot TEXT NOT NULL, ahead BIGINT NOT NULL, seen BIGINT NOT NULL, born BIGINT NOT NULL)";
}

// With the write lock: nobody else takes over or starts a clock meanwhile.
result<std::int64_t> settle_clock(sqlite3* db, const std::string& path, const machine_clock& mine,
                                  process_liveness& life) {
    if (auto begun = carry_out(db, "BEGIN IMMEDIATE", path); !begun) {
        return std::unexpected(std::move(begun.error()));
    }
    auto settled = settle(db, path, mine, life);
    if (settled) {
        if (auto kept = carry_out(db, "COMMIT", path); !kept) {
            settled = std::unexpected(std::move(kept.error()));
        }
    }
    if (!settled) static_cast<void>(carry_out(db, "ROLLBACK", path));
    return settled;
}

result<std::int64_t> suppose_clock(sqlite3* db, const std::string& path,
                                   const machine_clock& mine) {
    auto asked = ask(db, path, mine, true);
    if (!asked) return std::unexpected(std::move(asked.error()));
    if (choose_clock(*asked).verdict == clock_verdict::refuse) asked->used_by_others = false;
    const auto chosen = choose(db, path, *asked);
    if (!chosen) return std::unexpected(chosen.error());
    return chosen->ahead;
}

result<bool> note_clock(sqlite3* db, const std::string& path, const machine_clock& mine,
                        std::int64_t ahead) {
    const clock_reading now = mine.read();
    const auto note = fmt::format(
        "UPDATE holdfast_clock SET seen = holdfast_now(), born = {} "
        "WHERE ahead = {} AND seen <= holdfast_now()",
        now.day - now.since_boot, ahead);
    if (auto done = carry_out(db, note, path); !done) {
        return std::unexpected(std::move(done.error()));
    }
    return ::sqlite3_changes64(db) == 1;
}

}  // namespace holdfast::sqlite
