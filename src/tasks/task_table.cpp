// SPDX-License-Identifier: Apache-2.0
#include "tasks/task_table.hpp"

#include "tasks/task_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace holdfast::detail {
namespace {

using std::chrono::microseconds;

std::int64_t micros(duration d) {
    return std::chrono::ceil<microseconds>(d).count();
}

wall_time moment(std::int64_t us) {
    return wall_time(microseconds(us));
}

std::uint32_t small(std::int64_t number) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number, 0, UINT32_MAX));
}

}  // namespace

duration retry_delay(const retry_policy& policy, std::uint32_t failures, entropy& chance) {
    if (policy.grows == retry_policy::growth::fixed) return policy.pause;
    constexpr duration longest = std::chrono::hours(24);
    duration wait = std::min(policy.pause, longest);
    for (std::uint32_t i = 0; i < failures && wait < longest; ++i)
        wait = std::min(4 * wait, longest);
    const auto spread = static_cast<std::uint64_t>(std::max<std::int64_t>(1, wait.count() / 4));
    return wait + duration(static_cast<std::int64_t>(chance.below(spread)));
}

task_info read_task(const sql::row& row) {
    task_info out;
    out.id = row.text(0);
    out.queue = row.text(1);
    out.arguments = row.text(2);
    out.state = parse_task_state(row.text(3)).value_or(task_state::dead);
    out.priority = static_cast<int>(row.number(4));
    out.run_at = moment(row.number(5));
    out.owner = row.text(6);
    out.fence.value = static_cast<std::uint64_t>(row.number(7));
    out.attempt = small(row.number(8));
    out.failures = small(row.number(9));
    out.crashes = small(row.number(10));
    out.retry.retries = small(row.number(11));
    out.retry.pause = microseconds(row.number(12));
    out.retry.grows =
        row.number(13) == 0 ? retry_policy::growth::fixed : retry_policy::growth::exponential;
    out.retry.crashes = small(row.number(14));
    const std::int64_t lease = row.number(15);
    out.progress = static_cast<double>(row.number(16)) / 1000;
    out.note = row.text(17);
    out.result = row.text(18);
    out.error = row.text(19);
    out.unique_key = row.text(20);
    out.cancel_requested = row.number(21) != 0;
    if (out.state == task_state::finished) out.output = row.text(22);
    out.created = moment(row.number(23));
    out.started = moment(row.number(24));
    out.ended = moment(row.number(25));
    out.lease_left = microseconds(std::max<std::int64_t>(0, lease - row.number(26)));
    return out;
}

result<std::int64_t> run_on(sql::connection& on, task_sentence what,
                            std::span<const sql::value> values, const sql::row_reader& reader) {
    return on.run(sentence_of(what), values, reader);
}

task_table::task_table(std::unique_ptr<sql::database> of, writers how,
                       const task_store_options& options)
    : options_(options),
      how_(how),
      database_(std::move(of)),
      pool_(*database_, *options.time,
            static_cast<std::int64_t>(options.chance->below(std::uint64_t{1} << 40)) + 1) {
    others_.on_push([this](const auto&) { wake_here(); });
}

task_table::~task_table() = default;

// The tables are not the leases': they are made by the first that uses them, if it may.
result<void> task_table::make_tables(sql::connection& on) {
    {
        const std::scoped_lock guard(mutex_);
        if (made_ || !options_.create) return {};
    }
    auto done = on.begin();
    for (auto what = task_sentence::guard_schema; done && what <= task_sentence::make_schedules;
         what = static_cast<task_sentence>(static_cast<int>(what) + 1)) {
        const auto made = run_on(on, what, {}, ignore_rows);
        if (!made) done = std::unexpected(made.error());
    }
    if (done) done = on.commit();
    if (!done) {
        on.roll_back();
        return done;
    }
    const std::scoped_lock guard(mutex_);
    made_ = true;
    return {};
}

result<void> task_table::with(const work& what) {
    const time_point give_up = time().now() + options_.timeout;
    auto held = pool_.enter(give_up);
    if (!held) return holdfast::fail(errc::unavailable, "tasks: all connections are in use");
    if (auto ready = (*held)->ready(give_up); !ready) return ready;
    if (auto made = make_tables(**held); !made) return made;
    auto done = what(**held);
    if (!done && done.error() != errc::unavailable && done.error() != errc::invalid_argument) {
        const std::scoped_lock guard(mutex_);
        made_ = false;  // somebody may have deleted them, or the file
    }
    return done;
}

result<void> task_table::transact(const work& what) {
    return with([&](sql::connection& on) -> result<void> {
        constexpr int most_tries = 5;  // of a deadlock one loses, and may try again
        for (int i = 1;; ++i) {
            auto done = on.begin();
            if (done) done = what(on);
            if (done) done = on.commit();
            if (done) return done;
            const bool again = on.lost_conflict() && i < most_tries;
            on.roll_back();
            if (!again) return done;
        }
    });
}

result<std::int64_t> task_table::run(task_sentence what, std::span<const sql::value> values,
                                     const row_reader& reader) {
    std::int64_t rows = 0;
    const auto done = with([&](sql::connection& on) -> result<void> {
        auto ran = run_on(on, what, values, reader);
        if (!ran) return std::unexpected(std::move(ran.error()));
        rows = *ran;
        return {};
    });
    if (!done) return std::unexpected(done.error());
    return rows;
}

// What it did may be read behind it: then nobody may come between.
result<std::int64_t> task_table::change(task_sentence what, std::span<const sql::value> values,
                                        const row_reader& reader) {
    if (how_ != writers::together_plain) return run(what, values, reader);
    std::int64_t rows = 0;
    const auto done = transact([&](sql::connection& on) -> result<void> {
        auto ran = run_on(on, what, values, reader);
        if (!ran) return std::unexpected(std::move(ran.error()));
        rows = *ran;
        return {};
    });
    if (!done) return std::unexpected(done.error());
    return rows;
}

result<std::optional<task_state>> task_table::run_for_state(task_sentence what,
                                                            std::span<const sql::value> values) {
    std::optional<task_state> state;
    const auto done = change(what, values, [&](const sql::row& row) {
        state = parse_task_state(row.text(0)).value_or(task_state::dead);
    });
    if (!done) return std::unexpected(done.error());
    return state;
}

result<std::optional<task_info>> task_table::find(std::string_view id) {
    std::optional<task_info> found;
    const std::array<sql::value, 1> values{id};
    const auto done =
        run(task_sentence::find, values, [&](const sql::row& row) { found = read_task(row); });
    if (!done) return std::unexpected(done.error());
    return found;
}

result<std::vector<task_info>> task_table::list(const task_filter& which) {
    std::vector<task_info> found;
    const std::string_view state = which.state ? to_string(*which.state) : std::string_view();
    const std::array<sql::value, 3> values{
        which.queue, state, std::int64_t{std::clamp<std::uint32_t>(which.limit, 1, 10000)}};
    const auto done = run(task_sentence::list, values,
                          [&](const sql::row& row) { found.push_back(read_task(row)); });
    if (!done) return std::unexpected(done.error());
    return found;
}

result<std::optional<task_state>> task_table::cancel(std::string_view id) {
    const std::array<sql::value, 1> values{id};
    return run_for_state(task_sentence::cancel, values);
}

result<bool> task_table::requeue(std::string_view id) {
    const std::array<sql::value, 1> values{id};
    const auto rows = run(task_sentence::requeue, values);
    if (!rows) return std::unexpected(rows.error());
    if (*rows > 0) wake_all();
    return *rows > 0;
}

result<std::uint64_t> task_table::forget(duration older_than) {
    const std::array<sql::value, 1> values{micros(older_than)};
    const auto rows = run(task_sentence::forget, values);
    if (!rows) return std::unexpected(rows.error());
    return static_cast<std::uint64_t>(*rows);
}

result<std::vector<std::string>> task_table::peek(std::string_view queue, int most) {
    std::vector<std::string> ids;
    const std::array<sql::value, 2> values{queue, std::int64_t{most}};
    const auto done = run(task_sentence::peek, values,
                          [&](const sql::row& row) { ids.emplace_back(row.text(0)); });
    if (!done) return std::unexpected(done.error());
    return ids;
}

result<std::optional<task_info>> task_table::claim(std::string_view id, std::string_view owner,
                                                   duration lease) {
    std::optional<task_info> claimed;
    const std::array<sql::value, 3> values{id, owner, micros(lease)};
    const sql::row_reader reader = [&](const sql::row& row) { claimed = read_task(row); };
    if (how_ == writers::one_at_a_time) {
        const auto done = run(task_sentence::claim, values, reader);
        if (!done) return std::unexpected(done.error());
        return claimed;
    }
    const auto done = transact([&](sql::connection& on) -> result<void> {
        claimed.reset();
        const std::span<const sql::value> all(values);
        auto ran = run_on(on, task_sentence::lock_queue, all.first(1), ignore_rows);
        if (ran) ran = run_on(on, task_sentence::claim, all, reader);
        return ran ? result<void>() : std::unexpected(ran.error());
    });
    if (!done) return std::unexpected(done.error());
    return claimed;
}

result<renewal> task_table::renew(const report& of, duration lease, double progress,
                                  std::string_view note) {
    renewal found = renewal::refused;
    const auto permille = static_cast<std::int64_t>(std::clamp(progress, 0.0, 1.0) * 1000);
    const std::array<sql::value, 5> values{of.id, of.fence, micros(lease), permille, note};
    const auto done = run(task_sentence::renew, values, [&](const sql::row& row) {
        found = row.number(0) != 0 ? renewal::cancel : renewal::kept;
    });
    if (!done) return std::unexpected(done.error());
    return found;
}

result<bool> task_table::publish(const report& of, const stalled_output& where,
                                 std::string_view said, duration lease) {
    const std::array<sql::value, 6> values{of.id,       of.fence, where.staged,
                                           where.place, said,     micros(lease)};
    const auto rows = run(task_sentence::publish, values);
    if (!rows) return std::unexpected(rows.error());
    return *rows > 0;
}

result<bool> task_table::finish(const report& of, std::string_view said) {
    const std::array<sql::value, 3> values{of.id, of.fence, said};
    const auto rows = run(task_sentence::finish, values);
    if (!rows) return std::unexpected(rows.error());
    return *rows > 0;
}

result<std::optional<task_state>> task_table::fail(const report& of, std::string_view why,
                                                   duration wait, failure kind) {
    const std::array<sql::value, 5> values{of.id, of.fence, why, micros(wait),
                                           std::int64_t{kind == failure::permanent ? 1 : 0}};
    return run_for_state(task_sentence::fail, values);
}

result<std::optional<task_state>> task_table::give_back(const report& of) {
    const std::array<sql::value, 2> values{of.id, of.fence};
    auto state = run_for_state(task_sentence::give_back, values);
    if (state && *state == task_state::pending) wake_all();
    return state;
}

result<std::vector<rescued_task>> task_table::rescue() {
    std::vector<rescued_task> found;
    const sql::row_reader reader = [&](const sql::row& row) {
        found.push_back(
            {std::string(row.text(0)), parse_task_state(row.text(1)).value_or(task_state::dead)});
    };
    if (how_ != writers::together_plain) {
        const auto done = run(task_sentence::rescue, {}, reader);
        if (!done) return std::unexpected(done.error());
        return found;
    }
    std::vector<std::pair<std::string, std::int64_t>> expired;
    auto done = run(task_sentence::expired, {},
                    [&](const sql::row& row) { expired.emplace_back(row.text(0), row.number(1)); });
    for (std::size_t i = 0; done && i < expired.size(); ++i) {
        const std::array<sql::value, 2> values{expired[i].first, expired[i].second};
        done = change(task_sentence::rescue, values, reader);
    }
    if (!done) return std::unexpected(done.error());
    return found;
}

result<std::vector<stalled_output>> task_table::stalled() {
    std::vector<stalled_output> found;
    const auto done = run(task_sentence::stalled, {}, [&](const sql::row& row) {
        found.push_back({std::string(row.text(0)), row.number(1), std::string(row.text(2)),
                         std::string(row.text(3))});
    });
    if (!done) return std::unexpected(done.error());
    return found;
}

result<std::optional<task_state>> task_table::unpublish(const report& of) {
    const std::array<sql::value, 2> values{of.id, of.fence};
    return run_for_state(task_sentence::unpublish, values);
}

}  // namespace holdfast::detail
