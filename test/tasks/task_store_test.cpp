// SPDX-License-Identifier: Apache-2.0
//
// What every database does with tasks. On SQLite the time is virtual; on PostgreSQL it is the
// server's, so there the cases pass some real milliseconds.
#include "support/temporary_directory.hpp"
#include "task_servers.hpp"
#include "tasks/task_table.hpp"

#include <holdfast/tasks/task_store.hpp>
#include <holdfast/virtual_clock.hpp>

#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <string>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using detail::renewal;

class ground {
public:
    virtual ~ground() = default;
    virtual task_store open() = 0;
    virtual void pass(duration time) = 0;
    /// Whether no time passes but what pass() says: only then can "not yet" be checked.
    [[nodiscard]] virtual bool exact() const { return true; }
};

class sqlite_ground final : public ground {
public:
    task_store open() override {
        return open_tasks("sqlite:" + (folder_.path() / "tasks.db").native(), {.time = &time_})
            .value();
    }
    void pass(duration time) override { time_.advance(time); }

private:
    test::temporary_directory folder_;
    virtual_clock time_;
};

class server_ground final : public ground {
public:
    explicit server_ground(const std::string& engine)
        : url_(test::empty_task_database(engine, "")) {}
    task_store open() override { return open_tasks(url_).value(); }
    [[nodiscard]] bool exact() const override { return false; }
    void pass(duration time) override {
        ::poll(nullptr, 0,
               static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(time).count()));
    }

private:
    const std::string url_;
};

class task_conformance : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        if (GetParam() == "sqlite") {
            ground_ = std::make_unique<sqlite_ground>();
        } else {
            ground_ = std::make_unique<server_ground>(GetParam());
        }
    }
    task_state state_of(task_store& tasks, std::string_view id) {
        return tasks.find(id).value().value().state;
    }

    std::unique_ptr<ground> ground_;
};

TEST_P(task_conformance, a_task_is_claimed_once_and_finished_by_its_fence) {
    auto tasks = ground_->open();
    auto other = ground_->open();
    ASSERT_TRUE(
        tasks.submit({.arguments = "O'Brien \"; DROP TABLE holdfast_tasks; --", .id = "a1"}));
    EXPECT_EQ(tasks.table()->peek("default", 8).value(), std::vector<std::string>{"a1"});
    const auto mine = tasks.table()->claim("a1", "me", 30s).value();
    ASSERT_TRUE(mine);
    EXPECT_EQ(mine->arguments, "O'Brien \"; DROP TABLE holdfast_tasks; --");
    EXPECT_EQ(mine->attempt, 1U);
    EXPECT_FALSE(other.table()->claim("a1", "other", 30s).value());
    const auto fence = static_cast<std::int64_t>(mine->fence.value);
    EXPECT_EQ(other.table()->renew({"a1", fence - 1}, 30s, 0, "").value(), renewal::refused);
    EXPECT_EQ(tasks.table()->renew({"a1", fence}, 30s, 0.5, "half").value(), renewal::kept);
    EXPECT_DOUBLE_EQ(other.find("a1").value()->progress, 0.5);
    EXPECT_FALSE(other.table()->finish({"a1", fence - 1}, "late").value());
    EXPECT_TRUE(tasks.table()->finish({"a1", fence}, "done").value());
    EXPECT_TRUE(tasks.table()->finish({"a1", fence}, "done").value());  // after a lost reply
    const auto row = other.find("a1").value().value();
    EXPECT_EQ(row.state, task_state::finished);
    EXPECT_EQ(row.result, "done");
    EXPECT_FALSE(other.table()->claim("a1", "other", 30s).value());
}

TEST_P(task_conformance, a_dead_worker_loses_its_task_and_its_later_writes_are_refused) {
    auto tasks = ground_->open();
    ASSERT_TRUE(tasks.submit({.id = "a1", .retry = {.crashes = 1}}));
    const auto first = tasks.table()->claim("a1", "first", 50ms).value().value();
    ground_->pass(60ms);
    const auto rescued = tasks.table()->rescue().value();
    ASSERT_EQ(rescued.size(), 1U);
    EXPECT_EQ(rescued[0].now, task_state::pending);
    const auto second = tasks.table()->claim("a1", "second", 50ms).value().value();
    EXPECT_GT(second.fence, first.fence);
    EXPECT_EQ(second.crashes, 1U);
    EXPECT_EQ(second.failures, 0U);
    const detail::task_table::report old{"a1", static_cast<std::int64_t>(first.fence.value)};
    EXPECT_FALSE(tasks.table()->finish(old, "late").value());
    EXPECT_FALSE(
        tasks.table()->fail(old, "late", 0s, detail::task_table::failure::may_retry).value());
    EXPECT_EQ(tasks.table()->renew(old, 30s, 0, "").value(), renewal::refused);
    ground_->pass(60ms);
    EXPECT_EQ(tasks.table()->rescue().value().at(0).now, task_state::dead);
    ASSERT_TRUE(tasks.requeue("a1"));
    EXPECT_EQ(tasks.find("a1").value()->crashes, 0U);
    EXPECT_TRUE(tasks.table()->claim("a1", "third", 30s).value());
}

TEST_P(task_conformance, a_failure_is_retried_as_often_as_the_policy_says) {
    auto tasks = ground_->open();
    ASSERT_TRUE(tasks.submit({.id = "a1", .retry = {.retries = 1, .pause = 50ms}}));
    const auto fail_once = [&] {
        const auto mine = tasks.table()->claim("a1", "me", 30s).value();
        if (!mine) return std::string("not claimed");
        const auto state = tasks.table()->fail({"a1", static_cast<std::int64_t>(mine->fence.value)},
                                               "no", 50ms, detail::task_table::failure::may_retry);
        return std::string(to_string(state.value().value()));
    };
    EXPECT_EQ(fail_once(), "pending");
    if (ground_->exact()) {
        EXPECT_TRUE(tasks.table()->peek("default", 8).value().empty());  // not before its time
    }
    ground_->pass(60ms);
    EXPECT_EQ(fail_once(), "dead");
    EXPECT_EQ(tasks.find("a1").value()->error, "no");
    EXPECT_EQ(tasks.find("a1").value()->failures, 2U);
}

TEST_P(task_conformance, the_urgent_come_first_and_the_delayed_when_it_is_time) {
    auto tasks = ground_->open();
    ASSERT_TRUE(tasks.submit({.id = "low", .priority = -1}));
    ASSERT_TRUE(tasks.submit({.id = "later", .priority = 9, .delay = 80ms}));
    ASSERT_TRUE(tasks.submit({.id = "high", .priority = 5}));
    ASSERT_TRUE(tasks.submit({.queue = "other", .id = "elsewhere", .priority = 100}));
    using ids = std::vector<std::string>;
    if (ground_->exact()) {
        EXPECT_EQ(tasks.table()->peek("default", 8).value(), (ids{"high", "low"}));
    }
    ground_->pass(100ms);
    EXPECT_EQ(tasks.table()->peek("default", 8).value(), (ids{"later", "high", "low"}));
}

TEST_P(task_conformance, of_one_unique_key_one_task_has_not_ended) {
    auto tasks = ground_->open();
    const auto first = tasks.submit({.arguments = "1", .id = "a1", .unique_key = "k"}).value();
    EXPECT_TRUE(first.created);
    const auto dropped = tasks.submit({.arguments = "2", .unique_key = "k"}).value();
    EXPECT_FALSE(dropped.created);
    EXPECT_EQ(dropped.id, "a1");
    const auto replaced = tasks.submit(
        {.arguments = "3", .unique_key = "k", .on_conflict = unique_conflict::replace});
    EXPECT_FALSE(replaced.value().created);
    EXPECT_EQ(tasks.find("a1").value()->arguments, "3");
    ASSERT_TRUE(
        tasks.submit({.delay = 1h, .unique_key = "k", .on_conflict = unique_conflict::reschedule}));
    EXPECT_TRUE(tasks.table()->peek("default", 8).value().empty());
    EXPECT_EQ(tasks.cancel("a1").value(), task_state::cancelled);
    EXPECT_TRUE(tasks.submit({.id = "a2", .unique_key = "k"}).value().created);
    EXPECT_EQ(tasks.requeue("a1").error(), errc::invalid_argument);
    EXPECT_FALSE(tasks.submit({.id = "a1"}).value().created);  // an id is one task for ever
}

TEST_P(task_conformance, a_paused_queue_rests_and_a_limited_one_runs_so_many) {
    auto tasks = ground_->open();
    for (const auto* id : {"a", "b", "c"}) ASSERT_TRUE(tasks.submit({.id = id}));
    ASSERT_TRUE(tasks.pause("default"));
    EXPECT_TRUE(tasks.table()->peek("default", 8).value().empty());
    EXPECT_FALSE(tasks.table()->claim("a", "me", 30s).value());
    ASSERT_TRUE(tasks.resume("default"));
    ASSERT_TRUE(tasks.limit("default", 2));
    const auto a = tasks.table()->claim("a", "me", 30s).value();
    EXPECT_TRUE(a);
    EXPECT_TRUE(tasks.table()->claim("b", "me", 30s).value());
    EXPECT_FALSE(tasks.table()->claim("c", "me", 30s).value());
    EXPECT_TRUE(
        tasks.table()->finish({"a", static_cast<std::int64_t>(a->fence.value)}, "").value());
    EXPECT_TRUE(tasks.table()->claim("c", "me", 30s).value());
    const auto seen = tasks.queues().value();
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].most_running, 2U);
    EXPECT_EQ(seen[0].tasks.at(task_state::running), 2U);
}

TEST_P(task_conformance, a_running_task_is_cancelled_by_its_worker_and_others_at_once) {
    auto tasks = ground_->open();
    ASSERT_TRUE(tasks.submit({.id = "a1"}));
    const auto mine = tasks.table()->claim("a1", "me", 30s).value().value();
    const detail::task_table::report of{"a1", static_cast<std::int64_t>(mine.fence.value)};
    EXPECT_EQ(tasks.cancel("a1").value(), task_state::running);
    EXPECT_EQ(tasks.table()->renew(of, 30s, 0, "").value(), renewal::cancel);
    EXPECT_FALSE(tasks.table()->publish(of, {"a1", 0, "/s", "/p"}, "", 30s).value());
    EXPECT_EQ(tasks.table()->fail(of, "", 0s, detail::task_table::failure::may_retry).value(),
              task_state::cancelled);
    EXPECT_EQ(tasks.cancel("a1").error(), errc::invalid_argument);
    EXPECT_EQ(tasks.cancel("nobody").error(), errc::invalid_argument);
    EXPECT_EQ(tasks.forget(0s).value(), 1U);
    EXPECT_FALSE(tasks.find("a1").value());
}

TEST_P(task_conformance, a_row_that_is_won_for_publishing_is_finished_by_anyone) {
    auto tasks = ground_->open();
    ASSERT_TRUE(tasks.submit({.id = "a1"}));
    const auto mine = tasks.table()->claim("a1", "me", 50ms).value().value();
    const detail::task_table::report of{"a1", static_cast<std::int64_t>(mine.fence.value)};
    EXPECT_TRUE(tasks.table()->publish(of, {"a1", 0, "/staged", "/place"}, "said", 50ms).value());
    if (ground_->exact()) {
        EXPECT_TRUE(tasks.table()->stalled().value().empty());
    }
    ground_->pass(60ms);
    EXPECT_TRUE(tasks.table()->rescue().value().empty());
    const auto stalled = tasks.table()->stalled().value();
    ASSERT_EQ(stalled.size(), 1U);
    EXPECT_EQ(stalled[0].staged, "/staged");
    EXPECT_TRUE(tasks.table()->finish({"a1", stalled[0].fence}, "").value());
    const auto row = tasks.find("a1").value().value();
    EXPECT_EQ(row.output, "/place");
    EXPECT_EQ(row.result, "said");
}

TEST_P(task_conformance, one_of_several_workers_submits_a_tick) {
    auto tasks = ground_->open();
    EXPECT_EQ(tasks.schedule({.name = "n", .cron = "61 * * * *"}).error(), errc::invalid_argument);
    ASSERT_TRUE(tasks.schedule({.name = "nightly", .cron = "0 3 * * *"}));
    EXPECT_EQ(tasks.table()->tick().value(), 0U);
    EXPECT_EQ(tasks.schedules().value().at(0).cron, "0 3 * * *");
    EXPECT_TRUE(tasks.unschedule("nightly").value());
    EXPECT_FALSE(tasks.unschedule("nightly").value());
}

TEST_P(task_conformance, what_is_no_name_or_too_large_is_refused) {
    auto tasks = ground_->open();
    const auto refused = [&](const task_submission& what) {
        const auto sent = tasks.submit(what);
        return !sent && sent.error() == errc::invalid_argument;
    };
    EXPECT_TRUE(refused({.arguments = std::string(task_submission::max_arguments + 1, 'x')}));
    EXPECT_TRUE(refused({.arguments = std::string("a\0b", 3)}));
    EXPECT_TRUE(refused({.arguments = "\xff\xfe"}));
    for (const std::string& bad :
         {std::string("a b"), std::string("../x"), std::string("a/b"), std::string("a'b"),
          std::string("a\nb"), std::string("\xff"), std::string("a\0b", 3), std::string(201, 'a'),
          std::string("-x"), std::string(".")}) {
        EXPECT_TRUE(refused({.id = bad})) << bad;
        EXPECT_TRUE(refused({.queue = bad})) << bad;
        EXPECT_EQ(tasks.find(bad).error(), errc::invalid_argument);
        EXPECT_EQ(tasks.pause(bad).error(), errc::invalid_argument);
    }
    EXPECT_TRUE(refused({.queue = ""}));
    EXPECT_TRUE(refused({.priority = 101}));
    EXPECT_TRUE(refused({.delay = -1s}));
    EXPECT_TRUE(refused({.unique_key = "a\x1b"}));
    EXPECT_TRUE(tasks.submit({.arguments = std::string(task_submission::max_arguments, 'x')}));
    EXPECT_EQ(tasks.list().value().size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(engines, task_conformance, testing::ValuesIn(test::task_engines()),
                         [](const auto& one) { return one.param; });

TEST(task_urls, only_databases_keep_tasks) {
    EXPECT_EQ(open_tasks("memory:").error(), errc::unsupported);
    EXPECT_EQ(open_tasks("redis://localhost").error(), errc::unsupported);
    EXPECT_EQ(open_tasks("sqlite:").error(), errc::invalid_argument);
}

TEST(task_retries, grow_fourfold_with_jitter_or_stay) {
    seeded_entropy chance(1);
    using growth = retry_policy::growth;
    EXPECT_EQ(detail::retry_delay({.pause = 60s}, 7, chance), 60s);
    for (std::uint32_t i = 0; i < 40; ++i) {
        const duration wait =
            detail::retry_delay({.pause = 30s, .grows = growth::exponential}, i, chance);
        const duration base = i >= 6 ? 24h : 30s * (1 << (2 * i));
        EXPECT_GE(wait, std::min<duration>(base, 24h));
        EXPECT_LE(wait, std::min<duration>(base, 24h) * 5 / 4);
    }
}

}  // namespace
}  // namespace holdfast
