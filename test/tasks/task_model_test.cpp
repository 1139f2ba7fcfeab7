// SPDX-License-Identifier: Apache-2.0
//
// Every transition of a row against a model of a few lines, in random order.
#include "tasks/task_bed.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using detail::task_table;
using enum task_state;

struct model_row {
    task_state state = pending;
    std::int64_t fence = 0;
    std::uint32_t attempt = 0;
    std::uint32_t failures = 0;
    std::uint32_t crashes = 0;
    bool cancel = false;
    time_point run_at = {};
    time_point lease_until = {};
};

constexpr std::uint32_t model_retries = 2;
constexpr std::uint32_t model_crashes = 1;

class task_model : public testing::Test {
protected:
    static constexpr std::array<std::string_view, 3> ids{"a", "b", "c"};

    void SetUp() override {
        for (const auto id : ids) {
            ASSERT_TRUE(tasks_.submit(
                {.id = std::string(id),
                 .retry = {.retries = model_retries, .pause = 10s, .crashes = model_crashes}}));
        }
        for (auto& row : rows_) row.run_at = bed_.time.now();
    }

    [[nodiscard]] bool owns(const model_row& row, std::int64_t fence) const {
        return row.fence == fence && (row.state == running || row.state == publishing);
    }

    void claim(std::size_t i) {
        model_row& row = rows_[i];
        const bool fits = row.state == pending && row.run_at <= now() && !row.cancel;
        const auto got = table().claim(ids[i], "me", 30s).value();
        ASSERT_EQ(got.has_value(), fits);
        if (!fits) return;
        row.state = running;
        ++row.fence;
        ++row.attempt;
        row.lease_until = now() + 30s;
    }

    void renew(std::size_t i, std::int64_t fence) {
        model_row& row = rows_[i];
        const auto got = table().renew({ids[i], fence}, 30s, 0, "").value();
        const auto wanted = !owns(row, fence) ? detail::renewal::refused
                            : row.cancel      ? detail::renewal::cancel
                                              : detail::renewal::kept;
        ASSERT_EQ(got, wanted);
        if (owns(row, fence)) row.lease_until = now() + 30s;
    }

    void publish(std::size_t i, std::int64_t fence) {
        model_row& row = rows_[i];
        const bool fits = row.fence == fence &&
                          ((row.state == running && !row.cancel) || row.state == publishing);
        ASSERT_EQ(table().publish({ids[i], fence}, {"", 0, "s", "p"}, "", 30s).value(), fits);
        if (!fits) return;
        row.state = publishing;
        row.lease_until = now() + 30s;
    }

    void finish(std::size_t i, std::int64_t fence) {
        model_row& row = rows_[i];
        const bool fits = owns(row, fence) || (row.fence == fence && row.state == finished);
        ASSERT_EQ(table().finish({ids[i], fence}, "").value(), fits);
        if (fits) row.state = finished;
    }

    void fail(std::size_t i, std::int64_t fence, task_table::failure kind) {
        model_row& row = rows_[i];
        const auto got = table().fail({ids[i], fence}, "no", 10s, kind).value();
        ASSERT_EQ(got.has_value(), owns(row, fence));
        if (!got) return;
        const bool dead = row.failures >= model_retries || kind == task_table::failure::permanent;
        row.state = row.cancel ? cancelled : dead ? task_state::dead : pending;
        ++row.failures;
        ++row.fence;
        row.run_at = now() + 10s;
    }

    void give_back(std::size_t i, std::int64_t fence) {
        model_row& row = rows_[i];
        const bool fits = row.fence == fence && row.state == running;
        ASSERT_EQ(table().give_back({ids[i], fence}).value().has_value(), fits);
        if (!fits) return;
        row.state = row.cancel ? cancelled : pending;
        --row.attempt;
        ++row.fence;
    }

    void crash(model_row& row) {
        row.state = row.cancel ? cancelled : row.crashes >= model_crashes ? dead : pending;
        ++row.crashes;
        ++row.fence;
        row.run_at = now();
    }

    void rescue() {
        std::size_t wanted = 0;
        for (auto& row : rows_) {
            if (row.state != running || row.lease_until > now()) continue;
            crash(row);
            ++wanted;
        }
        ASSERT_EQ(table().rescue().value().size(), wanted);
    }

    void unpublish(std::size_t i, std::int64_t fence) {
        model_row& row = rows_[i];
        const bool fits = row.fence == fence && row.state == publishing && row.lease_until <= now();
        ASSERT_EQ(table().unpublish({ids[i], fence}).value().has_value(), fits);
        if (fits) crash(row);
    }

    void cancel(std::size_t i) {
        model_row& row = rows_[i];
        const bool fits = row.state == pending || row.state == running;
        ASSERT_EQ(tasks_.cancel(ids[i]).has_value(), fits);
        if (!fits) return;
        row.cancel = true;
        if (row.state == pending) row.state = cancelled;
    }

    void requeue(std::size_t i) {
        model_row& row = rows_[i];
        const bool fits = row.state == dead || row.state == cancelled;
        ASSERT_EQ(tasks_.requeue(ids[i]).has_value(), fits);
        if (!fits) return;
        row = {.fence = row.fence + 1, .attempt = row.attempt, .run_at = now()};
    }

    void compare() {
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto seen = tasks_.find(ids[i]).value().value();
            ASSERT_EQ(seen.state, rows_[i].state);
            ASSERT_EQ(static_cast<std::int64_t>(seen.fence.value), rows_[i].fence);
            ASSERT_EQ(seen.attempt, rows_[i].attempt);
            ASSERT_EQ(seen.failures, rows_[i].failures);
            ASSERT_EQ(seen.crashes, rows_[i].crashes);
            ASSERT_EQ(seen.cancel_requested, rows_[i].cancel);
        }
    }

    void step() {
        const auto i = static_cast<std::size_t>(bed_.chance.below(ids.size()));
        const std::int64_t fence =
            rows_[i].fence - static_cast<std::int64_t>(bed_.chance.below(4) == 0);
        switch (bed_.chance.below(14)) {
            case 0:
            case 1:
            case 2: claim(i); break;
            case 3: renew(i, fence); break;
            case 4: publish(i, fence); break;
            case 5: finish(i, fence); break;
            case 6: fail(i, fence, task_table::failure::may_retry); break;
            case 7: fail(i, fence, task_table::failure::permanent); break;
            case 8: give_back(i, fence); break;
            case 9: rescue(); break;
            case 10: unpublish(i, fence); break;
            case 11: cancel(i); break;
            case 12: requeue(i); break;
            default: bed_.time.advance(std::chrono::seconds(bed_.chance.below(40)));
        }
    }

    /// A task that is finished stays so: then there are new ones.
    void renew_finished() {
        for (std::size_t i = 0; i < ids.size(); ++i) {
            if (rows_[i].state != finished || bed_.chance.below(10) != 0) continue;
            ASSERT_GE(tasks_.forget(0s).value(), 1U);
            for (std::size_t k = 0; k < ids.size(); ++k) {
                if (!has_ended(rows_[k].state)) continue;
                ASSERT_TRUE(tasks_.submit(
                    {.id = std::string(ids[k]),
                     .retry = {.retries = model_retries, .pause = 10s, .crashes = model_crashes}}));
                rows_[k] = {.run_at = now()};
            }
        }
    }

    [[nodiscard]] time_point now() const { return bed_.time.now(); }
    [[nodiscard]] task_table& table() { return *tasks_.table(); }

    test::task_bed bed_;
    task_store tasks_ = bed_.open();
    std::array<model_row, 3> rows_;
};

TEST_F(task_model, every_transition_is_the_models) {
    for (int i = 0; i < 4000; ++i) {
        step();
        if (HasFatalFailure()) FAIL() << "in step " << i;
        compare();
        if (HasFatalFailure()) FAIL() << "after step " << i;
        renew_finished();
    }
}

}  // namespace
}  // namespace holdfast
