// SPDX-License-Identifier: Apache-2.0
//
// Queues, and recurring tasks.
//
// A tick is the time of day in UTC, not the database's clock: people mean the former by "at three".
// All workers compete to move a schedule from one tick to the next, in one transaction with the
// tick's task: so a tick is submitted once, also by machines whose clocks differ.
#include "tasks/task_checks.hpp"
#include "tasks/task_table.hpp"

#include <holdfast/tasks/cron.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>

namespace holdfast::detail {
namespace {

using std::chrono::microseconds;

constexpr int schedules_at_once = 100;
constexpr int most_missed = 1000;
constexpr duration prompt = std::chrono::minutes(1);

std::int64_t tick_micros(wall_time tick) {
    return tick.time_since_epoch().count();
}

task_schedule read_schedule(const sql::row& row) {
    task_schedule out;
    out.name = row.text(0);
    out.cron = row.text(1);
    out.task.queue = row.text(2);
    out.task.arguments = row.text(3);
    out.task.priority = static_cast<int>(row.number(4));
    out.task.retry.retries = static_cast<std::uint32_t>(row.number(5));
    out.task.retry.pause = microseconds(row.number(6));
    out.task.retry.grows =
        row.number(7) == 0 ? retry_policy::growth::fixed : retry_policy::growth::exponential;
    out.task.retry.crashes = static_cast<std::uint32_t>(row.number(8));
    out.missed = static_cast<catch_up>(row.number(9));
    out.next = wall_time(microseconds(row.number(10)));
    return out;
}

std::string tick_id(const std::string& name, wall_time tick) {
    const std::chrono::sys_seconds seconds = std::chrono::floor<std::chrono::seconds>(tick);
    return fmt::format("{}@{:%Y%m%dT%H%MZ}", name, seconds);
}

// The ticks that run now, and the one after them.
struct tick_plan {
    std::vector<wall_time> run;
    wall_time next;
};

tick_plan plan_ticks(const task_schedule& due, const cron& rule, wall_time now) {
    tick_plan plan{{}, due.next};
    while (plan.next <= now && plan.run.size() < most_missed) {
        const bool late = now - plan.next > prompt;
        if (due.missed == catch_up::latest) plan.run.clear();
        if (due.missed != catch_up::none || !late) plan.run.push_back(plan.next);
        // One that has no further tick stays where nobody looks.
        plan.next = rule.next(plan.next).value_or(wall_time::max());
    }
    return plan;
}

}  // namespace

result<void> task_table::set_paused(std::string_view queue, std::int64_t paused) {
    if (auto fit = check_queue(queue); !fit) return fit;
    const std::array<sql::value, 2> values{queue, paused};
    const auto done = run(task_sentence::pause, values);
    if (done && paused == 0) wake_all();
    return done ? result<void>() : std::unexpected(done.error());
}

result<void> task_table::set_limit(std::string_view queue, std::uint32_t most_running) {
    if (auto fit = check_queue(queue); !fit) return fit;
    const std::array<sql::value, 2> values{queue, std::int64_t{most_running}};
    const auto done = run(task_sentence::limit, values);
    return done ? result<void>() : std::unexpected(done.error());
}

result<std::vector<queue_info>> task_table::queues() {
    std::map<std::string, queue_info, std::less<>> found;
    const auto at = [&](std::string_view name) -> queue_info& {
        queue_info& one = found[std::string(name)];
        one.name = name;
        return one;
    };
    auto done = run(task_sentence::queues, {}, [&](const sql::row& row) {
        queue_info& one = at(row.text(0));
        one.paused = row.number(1) != 0;
        one.most_running = static_cast<std::uint32_t>(row.number(2));
    });
    if (done) {
        done = run(task_sentence::count, {}, [&](const sql::row& row) {
            const auto state = parse_task_state(row.text(1));
            if (state) at(row.text(0)).tasks[*state] = static_cast<std::uint64_t>(row.number(2));
        });
    }
    if (!done) return std::unexpected(done.error());
    std::vector<queue_info> out;
    for (auto& [name, one] : found) out.push_back(std::move(one));
    return out;
}

result<void> task_table::schedule(const task_schedule& what) {
    if (auto fit = check_schedule(what); !fit) return fit;
    const auto rule = cron::parse(what.cron);
    if (!rule) return std::unexpected(rule.error());
    const auto first = rule->next(time().wall());
    if (!first) return holdfast::fail(errc::invalid_argument, "cron: this never comes true");
    const auto task = insert_values(what.task, "");
    const std::array<sql::value, 11> values{what.name,
                                            what.cron,
                                            task[1],
                                            task[2],
                                            task[3],
                                            task[5],
                                            task[6],
                                            task[7],
                                            task[8],
                                            static_cast<std::int64_t>(what.missed),
                                            tick_micros(*first)};
    const auto done = run(task_sentence::put_schedule, values);
    return done ? result<void>() : std::unexpected(done.error());
}

result<bool> task_table::unschedule(std::string_view name) {
    const std::array<sql::value, 1> values{name};
    const auto rows = run(task_sentence::drop_schedule, values);
    if (!rows) return std::unexpected(rows.error());
    return *rows > 0;
}

result<std::vector<task_schedule>> task_table::schedules() {
    std::vector<task_schedule> found;
    const auto done = run(task_sentence::all_schedules, {},
                          [&](const sql::row& row) { found.push_back(read_schedule(row)); });
    if (!done) return std::unexpected(done.error());
    return found;
}

result<void> task_table::tick_one(sql::connection& on, const task_schedule& due, wall_time now,
                                  std::uint64_t& submitted) {
    const auto rule = cron::parse(due.cron);
    if (!rule) return std::unexpected(rule.error());
    const tick_plan plan = plan_ticks(due, *rule, now);
    const std::array<sql::value, 3> move{due.name, tick_micros(due.next), tick_micros(plan.next)};
    const auto moved = run_on(on, task_sentence::advance, move, ignore_rows);
    if (!moved) return std::unexpected(moved.error());
    if (*moved == 0) return {};  // another worker's
    for (const wall_time tick : plan.run) {
        const std::string id = tick_id(due.name, tick);
        const auto values = insert_values(due.task, id);
        const auto made = run_on(on, task_sentence::insert, values, ignore_rows);
        if (!made) return std::unexpected(made.error());
        submitted += static_cast<std::uint64_t>(*made);
    }
    return {};
}

result<std::uint64_t> task_table::tick() {
    std::vector<task_schedule> due;
    const wall_time now = time().wall();
    const std::array<sql::value, 2> values{tick_micros(now), std::int64_t{schedules_at_once}};
    const auto looked = run(task_sentence::due_schedules, values,
                            [&](const sql::row& row) { due.push_back(read_schedule(row)); });
    if (!looked) return std::unexpected(looked.error());
    if (due.empty()) return 0;
    std::uint64_t submitted = 0;
    const auto done = transact([&](sql::connection& on) -> result<void> {
        submitted = 0;
        for (const task_schedule& one : due) {
            if (auto moved = tick_one(on, one, now, submitted); !moved) return moved;
        }
        return {};
    });
    if (!done) return std::unexpected(done.error());
    if (submitted > 0) wake_all();
    return submitted;
}

}  // namespace holdfast::detail
