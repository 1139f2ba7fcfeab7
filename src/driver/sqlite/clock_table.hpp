// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/sqlite/boot_identity.hpp"
#include "driver/sqlite/clock_choice.hpp"
#include "driver/sqlite/process_liveness.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <string>

struct sqlite3;

/// The table holdfast_clock: how far the file's time is ahead of the machine's clock, and the
/// latest time that was noted. clock_choice.hpp decides; this reads and writes.
namespace holdfast::sqlite {

/// The machine's clock as this process reads it.
class machine_clock {
public:
    machine_clock(const clock& time, boot_identity boot) : time_(&time), boot_(std::move(boot)) {}
    [[nodiscard]] clock_reading read() const;
    /// How far this process's own clock is ahead of the machine's; µs.
    [[nodiscard]] std::int64_t offset() const noexcept { return boot_.offset; }

private:
    const clock* time_;
    boot_identity boot_;
};

/// What makes the table.
[[nodiscard]] std::string clock_schema();

/// Takes over the clock that runs, or starts one; answers its `ahead`. From then on others see, by
/// `life`, that this process uses it.
/// Errors: unsupported (others use another clock), and those of the file.
[[nodiscard]] result<std::int64_t> settle_clock(sqlite3* db, const std::string& path,
                                                const machine_clock& mine, process_liveness& life);

/// What a process that only reads goes by: the clock that runs, or the one that would be started.
[[nodiscard]] result<std::int64_t> suppose_clock(sqlite3* db, const std::string& path,
                                                 const machine_clock& mine);

/// Notes the time of the clock with this `ahead`, as the function holdfast_now() tells it. False:
/// the file has another clock by now, or this one has gone back.
[[nodiscard]] result<bool> note_clock(sqlite3* db, const std::string& path,
                                      const machine_clock& mine, std::int64_t ahead);

}  // namespace holdfast::sqlite
