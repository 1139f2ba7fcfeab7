// SPDX-License-Identifier: Apache-2.0
#include "tasks/task_statements.hpp"

#include "tasks/mysql_task_statements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace holdfast::detail {
namespace {

// Times are µs by the database's clock, except next_tick, which is the time of day. 0 and '' stand
// for "none": no column is null.
constexpr std::string_view tasks_table = R"(
CREATE TABLE IF NOT EXISTS holdfast_tasks (
    id {name} NOT NULL PRIMARY KEY,
    queue {name} NOT NULL,
    arguments {text} NOT NULL,
    state {name} NOT NULL,
    priority BIGINT NOT NULL,
    run_at BIGINT NOT NULL,
    owner TEXT NOT NULL,
    fence BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    crashes BIGINT NOT NULL,
    retries BIGINT NOT NULL,
    retry_pause BIGINT NOT NULL,
    growth BIGINT NOT NULL,
    crash_limit BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    progress BIGINT NOT NULL,
    note TEXT NOT NULL,
    result TEXT NOT NULL,
    error TEXT NOT NULL,
    unique_key {name} NOT NULL,
    cancel BIGINT NOT NULL,
    staged TEXT NOT NULL,
    place TEXT NOT NULL,
    created BIGINT NOT NULL,
    started BIGINT NOT NULL,
    ended BIGINT NOT NULL{more}){by_key})";

constexpr std::string_view unique_index = R"(
CREATE UNIQUE INDEX IF NOT EXISTS holdfast_tasks_unique ON holdfast_tasks (unique_key)
WHERE unique_key <> '' AND state IN ('pending', 'running', 'publishing'))";

// What peek reads, in its order.
constexpr std::string_view queue_index = R"(
CREATE INDEX IF NOT EXISTS holdfast_tasks_by_queue
ON holdfast_tasks (queue, state, priority DESC, run_at, id))";

constexpr std::string_view lease_index = R"(
CREATE INDEX IF NOT EXISTS holdfast_tasks_by_lease ON holdfast_tasks (lease_until)
WHERE lease_until > 0)";

constexpr std::string_view queues_table = R"(
CREATE TABLE IF NOT EXISTS holdfast_queues (
    name {name} NOT NULL PRIMARY KEY,
    paused BIGINT NOT NULL,
    most_running BIGINT NOT NULL){by_key})";

constexpr std::string_view schedules_table = R"(
CREATE TABLE IF NOT EXISTS holdfast_schedules (
    name {name} NOT NULL PRIMARY KEY,
    cron TEXT NOT NULL,
    queue {name} NOT NULL,
    arguments {text} NOT NULL,
    priority BIGINT NOT NULL,
    retries BIGINT NOT NULL,
    retry_pause BIGINT NOT NULL,
    growth BIGINT NOT NULL,
    crash_limit BIGINT NOT NULL,
    catch_up BIGINT NOT NULL,
    next_tick BIGINT NOT NULL){by_key})";

constexpr std::string_view columns =
    "id, queue, arguments, state, priority, run_at, owner, fence, attempt, failures, crashes, "
    "retries, retry_pause, growth, crash_limit, lease_until, progress, note, result, error, "
    "unique_key, cancel, place, created, started, ended, {now}";

// ?1 id  ?2 queue  ?3 arguments  ?4 priority  ?5 delay  ?6 … ?9 the retry policy  ?10 unique key
// Changes no row if the id is taken, or the key by a task that has not ended.
constexpr std::string_view insert = R"(
INSERT INTO holdfast_tasks (id, queue, arguments, state, priority, run_at, owner, fence, attempt,
    failures, crashes, retries, retry_pause, growth, crash_limit, lease_until, progress, note,
    result, error, unique_key, cancel, staged, place, created, started, ended)
VALUES (?1, ?2, ?3, 'pending', ?4, {now} + ?5, '', 0, 0, 0, 0, ?6, ?7, ?8, ?9, 0, 0, '', '', '',
    ?10, 0, '', '', {now}, 0, 0)
ON CONFLICT DO NOTHING)";

constexpr std::string_view unique_holder = R"(
SELECT id FROM holdfast_tasks
WHERE unique_key = ?1 AND unique_key <> '' AND state IN ('pending', 'running', 'publishing'))";

constexpr std::string_view replace = R"(
UPDATE holdfast_tasks SET arguments = ?2, priority = ?3 WHERE id = ?1 AND state = 'pending')";

constexpr std::string_view reschedule = R"(
UPDATE holdfast_tasks SET run_at = {now} + ?2 WHERE id = ?1 AND state = 'pending')";

// Up to ?2 tasks of a queue that could be claimed now, the most urgent first.
constexpr std::string_view peek = R"(
SELECT id FROM holdfast_tasks
WHERE queue = ?1 AND state = 'pending' AND run_at <= {now}
  AND NOT EXISTS (
    SELECT 1 FROM holdfast_queues q WHERE q.name = ?1 AND (q.paused = 1
        OR (q.most_running > 0 AND q.most_running <= (
            SELECT count(*) FROM holdfast_tasks r WHERE r.queue = ?1
                AND r.state IN ('running', 'publishing')))))
ORDER BY priority DESC, run_at, id LIMIT ?2)";

// How long until the first of a queue is due; no number if none waits.
constexpr std::string_view next_due = R"(
SELECT min(run_at) - {now} FROM holdfast_tasks WHERE queue = ?1 AND state = 'pending')";

// Where several write together: claims of a queue that has a limit come one after the other.
constexpr std::string_view lock_queue = R"(
SELECT 1 FROM holdfast_queues q
WHERE q.most_running > 0 AND q.name = (SELECT t.queue FROM holdfast_tasks t WHERE t.id = ?1)
FOR UPDATE)";

// The claim: one row, or none. ?2 owner  ?3 lease. A task whose output was published is never
// claimed again.
constexpr std::string_view claim = R"(
UPDATE holdfast_tasks SET state = 'running', owner = ?2, fence = fence + 1, attempt = attempt + 1,
    lease_until = {now} + ?3, started = {now}, progress = 0, note = '', staged = ''
WHERE id = ?1 AND state = 'pending' AND run_at <= {now} AND cancel = 0
  AND NOT EXISTS (
    SELECT 1 FROM holdfast_queues q WHERE q.name = holdfast_tasks.queue AND (q.paused = 1
        OR (q.most_running > 0 AND q.most_running <= (
            SELECT count(*) FROM holdfast_tasks r WHERE r.queue = holdfast_tasks.queue
                AND r.state IN ('running', 'publishing')))))
RETURNING )";

// Every write of a worker from here on carries the fence of its claim, ?2, and changes no row if
// the row has another one. Tells whether the task is to be cancelled.
constexpr std::string_view renew = R"(
UPDATE holdfast_tasks SET lease_until = {now} + ?3, progress = ?4, note = ?5
WHERE id = ?1 AND fence = ?2 AND state IN ('running', 'publishing')
RETURNING cancel)";

// Wins the row before the output is moved from ?3 to ?4. It may be repeated.
constexpr std::string_view publish = R"(
UPDATE holdfast_tasks SET state = 'publishing', staged = ?3, place = ?4, result = ?5,
    lease_until = {now} + ?6
WHERE id = ?1 AND fence = ?2 AND (state = 'running' AND cancel = 0 OR state = 'publishing'))";

// It may be repeated.
constexpr std::string_view finish = R"(
UPDATE holdfast_tasks SET state = 'finished', progress = 1000,
    result = CASE WHEN state = 'running' THEN ?3 ELSE result END,
    error = '', lease_until = 0, staged = '',
    ended = CASE WHEN ended = 0 OR state <> 'finished' THEN {now} ELSE ended END
WHERE id = ?1 AND fence = ?2 AND state IN ('running', 'publishing', 'finished'))";

// ?3 why  ?4 how long until it may run again  ?5 whether no retry would help. Takes the next fence,
// so that it is done once.
constexpr std::string_view fail = R"(
UPDATE holdfast_tasks SET
    state = CASE WHEN cancel = 1 THEN 'cancelled'
                 WHEN ?5 = 1 OR failures >= retries THEN 'dead' ELSE 'pending' END,
    ended = CASE WHEN cancel = 1 OR ?5 = 1 OR failures >= retries THEN {now} ELSE 0 END,
    failures = failures + 1, fence = fence + 1, error = ?3, run_at = {now} + ?4,
    lease_until = 0, staged = '', place = ''
WHERE id = ?1 AND fence = ?2 AND state IN ('running', 'publishing')
RETURNING state)";

// As if it had not been claimed.
constexpr std::string_view give_back = R"(
UPDATE holdfast_tasks SET
    state = CASE WHEN cancel = 1 THEN 'cancelled' ELSE 'pending' END,
    ended = CASE WHEN cancel = 1 THEN {now} ELSE 0 END,
    attempt = attempt - 1, fence = fence + 1, lease_until = 0, staged = ''
WHERE id = ?1 AND fence = ?2 AND state = 'running'
RETURNING state)";

// What ran when its worker died. The fence grows, so that the worker, should it live, is refused.
constexpr std::string_view rescue = R"(
UPDATE holdfast_tasks SET
    state = CASE WHEN cancel = 1 THEN 'cancelled'
                 WHEN crashes >= crash_limit THEN 'dead' ELSE 'pending' END,
    ended = CASE WHEN cancel = 1 OR crashes >= crash_limit THEN {now} ELSE 0 END,
    error = CASE WHEN crashes >= crash_limit THEN 'its workers died with it' ELSE error END,
    crashes = crashes + 1, fence = fence + 1, run_at = {now}, lease_until = 0, staged = ''
WHERE state = 'running' AND lease_until > 0 AND lease_until <= {now}
RETURNING id, state)";

// Output that was not moved into place in time.
constexpr std::string_view stalled = R"(
SELECT id, fence, staged, place FROM holdfast_tasks
WHERE state = 'publishing' AND lease_until > 0 AND lease_until <= {now}
ORDER BY lease_until LIMIT 100)";

// Neither the staged output nor the published one is to be found: it must run again.
constexpr std::string_view unpublish = R"(
UPDATE holdfast_tasks SET
    state = CASE WHEN crashes >= crash_limit THEN 'dead' ELSE 'pending' END,
    ended = CASE WHEN crashes >= crash_limit THEN {now} ELSE 0 END,
    error = 'its output is gone', crashes = crashes + 1, fence = fence + 1, run_at = {now},
    lease_until = 0, staged = '', place = ''
WHERE id = ?1 AND fence = ?2 AND state = 'publishing' AND lease_until <= {now}
RETURNING state)";

constexpr std::string_view cancel = R"(
UPDATE holdfast_tasks SET cancel = 1,
    ended = CASE WHEN state = 'pending' THEN {now} ELSE ended END,
    state = CASE WHEN state = 'pending' THEN 'cancelled' ELSE state END
WHERE id = ?1 AND state IN ('pending', 'running')
RETURNING state)";

constexpr std::string_view requeue = R"(
UPDATE holdfast_tasks SET state = 'pending', failures = 0, crashes = 0, cancel = 0, ended = 0,
    fence = fence + 1, run_at = {now}, staged = '', place = ''
WHERE id = ?1 AND state IN ('dead', 'cancelled')
  AND NOT EXISTS (SELECT 1 FROM holdfast_tasks o WHERE o.unique_key = holdfast_tasks.unique_key
      AND o.unique_key <> '' AND o.state IN ('pending', 'running', 'publishing')))";

constexpr std::string_view forget = R"(
DELETE FROM holdfast_tasks WHERE id IN (
    SELECT id FROM holdfast_tasks WHERE state IN ('finished', 'dead', 'cancelled')
        AND ended <= {now} - ?1 LIMIT 10000))";

constexpr std::string_view count =
    "SELECT queue, state, count(*) FROM holdfast_tasks GROUP BY queue, state";

constexpr std::string_view pause = R"(
INSERT INTO holdfast_queues (name, paused, most_running) VALUES (?1, ?2, 0)
ON CONFLICT (name) DO UPDATE SET paused = excluded.paused)";

constexpr std::string_view limit = R"(
INSERT INTO holdfast_queues (name, paused, most_running) VALUES (?1, 0, ?2)
ON CONFLICT (name) DO UPDATE SET most_running = excluded.most_running)";

constexpr std::string_view queues = "SELECT name, paused, most_running FROM holdfast_queues";

constexpr std::string_view put_schedule = R"(
INSERT INTO holdfast_schedules (name, cron, queue, arguments, priority, retries, retry_pause,
    growth, crash_limit, catch_up, next_tick)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
ON CONFLICT (name) DO UPDATE SET
    cron = excluded.cron, queue = excluded.queue, arguments = excluded.arguments,
    priority = excluded.priority, retries = excluded.retries,
    retry_pause = excluded.retry_pause, growth = excluded.growth,
    crash_limit = excluded.crash_limit, catch_up = excluded.catch_up,
    next_tick = excluded.next_tick)";

constexpr std::string_view drop_schedule = "DELETE FROM holdfast_schedules WHERE name = ?1";

constexpr std::string_view schedule_columns =
    "SELECT name, cron, queue, arguments, priority, retries, retry_pause, growth, crash_limit, "
    "catch_up, next_tick FROM holdfast_schedules ";

// The tick belongs to whoever moves it. ?2 the tick  ?3 the next one.
constexpr std::string_view advance =
    "UPDATE holdfast_schedules SET next_tick = ?3 WHERE name = ?1 AND next_tick = ?2";

std::string table_text(std::string_view text, const sql::dialect& words, writers how) {
    const bool plain = how == writers::together_plain;
    return fmt::format(fmt::runtime(text.substr(1)), fmt::arg("name", words.name_type),
                       fmt::arg("by_key", words.by_key),
                       fmt::arg("text", plain ? mysql_task_table::text : "TEXT"),
                       fmt::arg("more", plain ? mysql_task_table::more : ""));
}

// In the order of task_sentence, behind those that make the tables.
std::vector<std::string> common_texts(writers how) {
    const std::string from_tasks = fmt::format("SELECT {} FROM holdfast_tasks ", columns);
    const std::string schedule(schedule_columns);
    return {std::string(insert),
            std::string(unique_holder),
            std::string(replace),
            std::string(reschedule),
            std::string(peek),
            std::string(next_due),
            how == writers::one_at_a_time ? std::string("SELECT ?1") : std::string(lock_queue),
            std::string(claim) + std::string(columns),
            std::string(renew),
            std::string(publish),
            std::string(finish),
            std::string(fail),
            std::string(give_back),
            "SELECT 1",
            std::string(rescue),
            std::string(stalled),
            std::string(unpublish),
            from_tasks + "WHERE id = ?1",
            from_tasks +
                "WHERE (?1 = '' OR queue = ?1) AND (?2 = '' OR state = ?2) "
                "ORDER BY created DESC, id DESC LIMIT ?3",
            std::string(cancel),
            std::string(requeue),
            std::string(forget),
            std::string(count),
            std::string(pause),
            std::string(limit),
            std::string(queues),
            std::string(put_schedule),
            std::string(drop_schedule),
            schedule + "ORDER BY name",
            schedule + "WHERE next_tick <= ?1 ORDER BY next_tick LIMIT ?2",
            std::string(advance)};
}

}  // namespace

std::vector<std::string> task_schema(const sql::dialect& words, writers how) {
    if (how == writers::together_plain) {
        return {table_text(tasks_table, words, how), table_text(queues_table, words, how),
                table_text(schedules_table, words, how)};
    }
    return {table_text(tasks_table, words, how),  std::string(unique_index.substr(1)),
            std::string(queue_index.substr(1)),   std::string(lease_index.substr(1)),
            table_text(queues_table, words, how), table_text(schedules_table, words, how)};
}

std::vector<std::string> task_statements(const sql::dialect& words, writers how) {
    std::vector<std::string> texts{
        how == writers::together ? "SELECT pg_advisory_xact_lock(1215261797)" : "SELECT 1",
        table_text(tasks_table, words, how),
        std::string(unique_index.substr(1)),
        std::string(queue_index.substr(1)),
        std::string(lease_index.substr(1)),
        table_text(queues_table, words, how),
        table_text(schedules_table, words, how)};
    for (const std::string& one : common_texts(how)) texts.push_back(sql::in_dialect(one, words));
    if (how != writers::together_plain) return texts;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        if (const auto own = mysql_task_text(static_cast<task_sentence>(i), columns)) {
            texts[i] = sql::in_dialect(*own, words);
        }
    }
    return texts;
}

}  // namespace holdfast::detail
