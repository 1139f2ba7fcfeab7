// SPDX-License-Identifier: Apache-2.0
#include "tasks/mysql_task_statements.hpp"

#include <fmt/format.h>

namespace holdfast::detail {
namespace {

constexpr std::string_view read_state =
    ";\nSELECT state FROM holdfast_tasks WHERE id = ?1 AND ROW_COUNT() > 0";

constexpr std::string_view mysql_insert = R"(
INSERT INTO holdfast_tasks (id, queue, arguments, state, priority, run_at, owner, fence, attempt,
    failures, crashes, retries, retry_pause, growth, crash_limit, lease_until, progress, note,
    result, error, unique_key, cancel, staged, place, created, started, ended)
VALUES (?1, ?2, ?3, 'pending', ?4, {now} + ?5, '', 0, 0, 0, 0, ?6, ?7, ?8, ?9, 0, 0, '', '', '',
    ?10, 0, '', '', {now}, 0, 0)
ON DUPLICATE KEY UPDATE holdfast_tasks.id = holdfast_tasks.id)";

// And whether the queue is closed: paused, or as many run as may.
constexpr std::string_view mysql_lock_queue = R"(
SELECT 1 FROM holdfast_queues q
WHERE q.most_running > 0 AND q.name = (SELECT t.queue FROM holdfast_tasks t WHERE t.id = ?1)
FOR UPDATE;
SET @holdfast_closed = EXISTS (
    SELECT 1 FROM holdfast_tasks t JOIN holdfast_queues q ON q.name = t.queue
    WHERE t.id = ?1 AND (q.paused = 1 OR (q.most_running > 0 AND q.most_running <= (
        SELECT count(*) FROM holdfast_tasks r WHERE r.queue = q.name
            AND r.state IN ('running', 'publishing'))))))";

constexpr std::string_view mysql_claim = R"(
UPDATE holdfast_tasks SET state = 'running', owner = ?2, fence = fence + 1, attempt = attempt + 1,
    lease_until = {now} + ?3, started = {now}, progress = 0, note = '', staged = ''
WHERE id = ?1 AND state = 'pending' AND run_at <= {now} AND cancel = 0 AND @holdfast_closed = 0)";

constexpr std::string_view mysql_renew = R"(
UPDATE holdfast_tasks SET lease_until = {now} + ?3, progress = ?4, note = ?5
WHERE id = ?1 AND fence = ?2 AND state IN ('running', 'publishing');
SELECT cancel FROM holdfast_tasks
WHERE id = ?1 AND fence = ?2 AND state IN ('running', 'publishing'))";

// Answers a row if it is done: also if it was done before.
constexpr std::string_view mysql_publish = R"(
UPDATE holdfast_tasks SET state = 'publishing', staged = ?3, place = ?4, result = ?5,
    lease_until = {now} + ?6
WHERE id = ?1 AND fence = ?2 AND (state = 'running' AND cancel = 0 OR state = 'publishing');
SELECT 1 FROM holdfast_tasks WHERE id = ?1 AND fence = ?2 AND state = 'publishing')";

constexpr std::string_view mysql_finish = R"(
UPDATE holdfast_tasks SET result = IF(state = 'running', ?3, result), progress = 1000,
    error = '', lease_until = 0, staged = '', ended = {now}, state = 'finished'
WHERE id = ?1 AND fence = ?2 AND state IN ('running', 'publishing');
SELECT 1 FROM holdfast_tasks WHERE id = ?1 AND fence = ?2 AND state = 'finished')";

constexpr std::string_view mysql_fail = R"(
UPDATE holdfast_tasks SET
    state = CASE WHEN cancel = 1 THEN 'cancelled'
                 WHEN ?5 = 1 OR failures >= retries THEN 'dead' ELSE 'pending' END,
    ended = IF(cancel = 1 OR ?5 = 1 OR failures >= retries, {now}, 0),
    failures = failures + 1, fence = fence + 1, error = ?3, run_at = {now} + ?4,
    lease_until = 0, staged = '', place = ''
WHERE id = ?1 AND fence = ?2 AND state IN ('running', 'publishing'))";

constexpr std::string_view mysql_give_back = R"(
UPDATE holdfast_tasks SET
    state = IF(cancel = 1, 'cancelled', 'pending'), ended = IF(cancel = 1, {now}, 0),
    attempt = attempt - 1, fence = fence + 1, lease_until = 0, staged = ''
WHERE id = ?1 AND fence = ?2 AND state = 'running')";

constexpr std::string_view mysql_expired = R"(
SELECT id, fence FROM holdfast_tasks
WHERE state = 'running' AND lease_until > 0 AND lease_until <= {now}
ORDER BY lease_until LIMIT 100)";

// One of them: ?1 id  ?2 its fence.
constexpr std::string_view mysql_rescue = R"(
UPDATE holdfast_tasks SET
    state = CASE WHEN cancel = 1 THEN 'cancelled'
                 WHEN crashes >= crash_limit THEN 'dead' ELSE 'pending' END,
    ended = IF(cancel = 1 OR crashes >= crash_limit, {now}, 0),
    error = IF(crashes >= crash_limit, 'its workers died with it', error),
    crashes = crashes + 1, fence = fence + 1, run_at = {now}, lease_until = 0, staged = ''
WHERE id = ?1 AND fence = ?2 AND state = 'running' AND lease_until > 0 AND lease_until <= {now};
SELECT id, state FROM holdfast_tasks WHERE id = ?1 AND ROW_COUNT() > 0)";

constexpr std::string_view mysql_unpublish = R"(
UPDATE holdfast_tasks SET
    state = IF(crashes >= crash_limit, 'dead', 'pending'),
    ended = IF(crashes >= crash_limit, {now}, 0),
    error = 'its output is gone', crashes = crashes + 1, fence = fence + 1, run_at = {now},
    lease_until = 0, staged = '', place = ''
WHERE id = ?1 AND fence = ?2 AND state = 'publishing' AND lease_until <= {now})";

// One that runs may be asked twice.
constexpr std::string_view mysql_cancel = R"(
UPDATE holdfast_tasks SET cancel = 1, ended = IF(state = 'pending', {now}, ended),
    state = IF(state = 'pending', 'cancelled', state)
WHERE id = ?1 AND state IN ('pending', 'running');
SELECT state FROM holdfast_tasks WHERE id = ?1 AND (ROW_COUNT() > 0 OR state = 'running'))";

// IGNORE: changes no row if another task has its unique key by now.
constexpr std::string_view mysql_requeue = R"(
UPDATE IGNORE holdfast_tasks SET state = 'pending', failures = 0, crashes = 0, cancel = 0,
    ended = 0, fence = fence + 1, run_at = {now}, staged = '', place = ''
WHERE id = ?1 AND state IN ('dead', 'cancelled'))";

constexpr std::string_view mysql_forget = R"(
DELETE FROM holdfast_tasks
WHERE state IN ('finished', 'dead', 'cancelled') AND ended <= {now} - ?1 LIMIT 10000)";

constexpr std::string_view mysql_pause = R"(
INSERT INTO holdfast_queues (name, paused, most_running) VALUES (?1, ?2, 0)
ON DUPLICATE KEY UPDATE paused = VALUES(paused))";

constexpr std::string_view mysql_limit = R"(
INSERT INTO holdfast_queues (name, paused, most_running) VALUES (?1, 0, ?2)
ON DUPLICATE KEY UPDATE most_running = VALUES(most_running))";

constexpr std::string_view mysql_put_schedule = R"(
INSERT INTO holdfast_schedules (name, cron, queue, arguments, priority, retries, retry_pause,
    growth, crash_limit, catch_up, next_tick)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
ON DUPLICATE KEY UPDATE
    cron = VALUES(cron), queue = VALUES(queue), arguments = VALUES(arguments),
    priority = VALUES(priority), retries = VALUES(retries), retry_pause = VALUES(retry_pause),
    growth = VALUES(growth), crash_limit = VALUES(crash_limit), catch_up = VALUES(catch_up),
    next_tick = VALUES(next_tick))";

std::string with_state(std::string_view update) {
    return std::string(update) + std::string(read_state);
}

}  // namespace

std::optional<std::string> mysql_task_text(task_sentence what, std::string_view columns) {
    using enum task_sentence;
    switch (what) {
        case guard_schema:
        case make_unique_index:
        case make_queue_index:
        case make_lease_index: return "DO 0";  // the indexes are made with the table
        case insert: return std::string(mysql_insert);
        case lock_queue: return std::string(mysql_lock_queue);
        case claim:
            return fmt::format(
                "{};\nSELECT {} FROM holdfast_tasks WHERE id = ?1 AND "
                "ROW_COUNT() > 0",
                mysql_claim, columns);
        case renew: return std::string(mysql_renew);
        case publish: return std::string(mysql_publish);
        case finish: return std::string(mysql_finish);
        case fail: return with_state(mysql_fail);
        case give_back: return with_state(mysql_give_back);
        case expired: return std::string(mysql_expired);
        case rescue: return std::string(mysql_rescue);
        case unpublish: return with_state(mysql_unpublish);
        case cancel: return std::string(mysql_cancel);
        case requeue: return std::string(mysql_requeue);
        case forget: return std::string(mysql_forget);
        case pause: return std::string(mysql_pause);
        case limit: return std::string(mysql_limit);
        case put_schedule: return std::string(mysql_put_schedule);
        default: return std::nullopt;
    }
}

}  // namespace holdfast::detail
