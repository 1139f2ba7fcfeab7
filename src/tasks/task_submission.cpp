// SPDX-License-Identifier: Apache-2.0
//
// How a task comes into the table: by its id, its unique key, and what is done on a conflict.
#include "tasks/task_checks.hpp"
#include "tasks/task_table.hpp"

#include <fmt/format.h>

#include <array>

namespace holdfast::detail {
namespace {

std::int64_t submit_micros(duration d) {
    return std::chrono::ceil<std::chrono::microseconds>(d).count();
}

// Begins with the time, so that ids sort by it.
std::string draw_id(const clock& time, entropy& chance) {
    const auto ms = std::chrono::floor<std::chrono::milliseconds>(time.wall()).time_since_epoch();
    return fmt::format("{:011x}{:010x}", ms.count(), chance.below(std::uint64_t{1} << 40));
}

}  // namespace

std::array<sql::value, 10> insert_values(const task_submission& what, std::string_view id) {
    return {id,
            what.queue,
            what.arguments,
            std::int64_t{what.priority},
            submit_micros(what.delay),
            std::int64_t{what.retry.retries},
            submit_micros(what.retry.pause),
            std::int64_t{what.retry.grows == retry_policy::growth::fixed ? 0 : 1},
            std::int64_t{what.retry.crashes},
            what.unique_key};
}

result<void> task_table::settle_conflict(sql::connection& on, const task_submission& what,
                                         submitted_task& out) {
    out.created = false;
    bool found = false;
    const std::array<sql::value, 1> key{what.unique_key};
    const auto looked = run_on(on, task_sentence::unique_holder, key, [&](const sql::row& row) {
        out.id = row.text(0);
        found = true;
    });
    if (!looked) return std::unexpected(looked.error());
    if (!found || what.on_conflict == unique_conflict::drop) return {};
    const std::string id = out.id;
    if (what.on_conflict == unique_conflict::replace) {
        const std::array<sql::value, 3> values{id, what.arguments, std::int64_t{what.priority}};
        const auto done = run_on(on, task_sentence::replace, values, ignore_rows);
        return done ? result<void>() : std::unexpected(done.error());
    }
    const std::array<sql::value, 2> values{id, submit_micros(what.delay)};
    const auto done = run_on(on, task_sentence::reschedule, values, ignore_rows);
    return done ? result<void>() : std::unexpected(done.error());
}

result<submitted_task> task_table::submit(const task_submission& what) {
    if (auto fit = check_submission(what); !fit) return std::unexpected(std::move(fit.error()));
    submitted_task out{.id = what.id.empty() ? draw_id(time(), chance()) : what.id};
    const std::string id = out.id;
    const auto values = insert_values(what, id);
    const auto insert = [&](sql::connection& on) -> result<void> {
        const auto rows = run_on(on, task_sentence::insert, values, ignore_rows);
        if (!rows) return std::unexpected(rows.error());
        out = {.id = id, .created = *rows > 0};
        return out.created || what.unique_key.empty() ? result<void>()
                                                      : settle_conflict(on, what, out);
    };
    const auto done = what.unique_key.empty() ? with(insert) : transact(insert);
    if (!done) return std::unexpected(done.error());
    if (out.created || what.on_conflict == unique_conflict::reschedule) wake_all();
    return out;
}

}  // namespace holdfast::detail
