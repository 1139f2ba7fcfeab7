// SPDX-License-Identifier: Apache-2.0
//
// Workers in virtual time: they crash, they are paused past their leases, their database fails
// before or after it has done what it was asked. Each task must end exactly once, and no two
// workers may run one task while both may believe in their leases.
//
// The workers are driven by task_attempt, as those of a runner are; here one thread drives them
// all, in the order of virtual time. A failure prints its seed.
#include "tasks/task_attempt.hpp"
#include "tasks/task_bed.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using detail::attempt_end;
using detail::task_attempt;
using detail::task_table;

constexpr duration sim_lease = 30s;

/// Fails now and then: before it did what it was asked, or after.
class faulty_connection final : public sql::connection {
public:
    faulty_connection(std::unique_ptr<sql::connection> real, entropy& chance, const bool& faulty)
        : real_(std::move(real)), chance_(chance), faulty_(faulty) {}

    [[nodiscard]] result<void> ready(time_point give_up) override { return real_->ready(give_up); }
    [[nodiscard]] result<void> begin() override { return real_->begin(); }
    [[nodiscard]] result<void> commit() override { return real_->commit(); }
    void roll_back() noexcept override { real_->roll_back(); }
    [[nodiscard]] result<std::int64_t> run(sql::sentence what, std::span<const sql::value> values,
                                           const sql::row_reader& reader) override {
        const bool fails = faulty_ && chance_.below(8) == 0;
        if (fails && chance_.below(2) == 0) return fail(errc::unavailable, "not done");
        auto done = real_->run(what, values, reader);
        if (fails) return fail(errc::outcome_unknown, "done, perhaps");
        return done;
    }
    [[nodiscard]] std::int64_t told() const noexcept override { return real_->told(); }
    void announce(std::int64_t process) override { real_->announce(process); }
    [[nodiscard]] bool may_live(std::int64_t process) override { return real_->may_live(process); }
    [[nodiscard]] result<wall_time> time_of_day() override { return real_->time_of_day(); }

private:
    std::unique_ptr<sql::connection> real_;
    entropy& chance_;
    const bool& faulty_;
};

struct sim_worker {
    std::unique_ptr<task_attempt> attempt;
    time_point next;
    time_point handler_ends;
    bool settling = false;
};

class simulation {
public:
    /// With a folder, the tasks publish output there.
    simulation(task_table& table, virtual_clock& time, bool& faulty, std::uint64_t seed,
               std::filesystem::path folder = {})
        : table_(table),
          clock_(time),
          faulty_(faulty),
          seed_(seed),
          folder_(std::move(folder)),
          chance_(seed) {}

    void run() {
        faulty_ = false;
        for (int i = 0; i < 6; ++i) {
            ids_.push_back(fmt::format("s{}-{}", seed_, i));
            ASSERT_TRUE(table_.submit({.id = ids_.back(),
                                       .priority = static_cast<int>(chance_.below(3)),
                                       .delay = std::chrono::seconds(chance_.below(100)),
                                       .retry = {.retries = 2, .pause = 20s, .crashes = 3}}));
        }
        faulty_ = chance_.below(2) == 0;
        for (sim_worker& one : workers_) one.next = clock_.now() + span(10s);
        for (int step = 0; step < 4000 && (step % 8 != 0 || !all_ended()); ++step) {
            sim_worker& next = *std::ranges::min_element(workers_, {}, &sim_worker::next);
            if (next.next > clock_.now()) clock_.advance(next.next - clock_.now());
            act(next);
            check_exclusion();
        }
        faulty_ = false;
        check_ends();
    }

private:
    duration span(duration most) {
        return duration(
            static_cast<std::int64_t>(chance_.below(static_cast<std::uint64_t>(most.count()))));
    }

    /// Soon, or after a pause that may outlast the lease.
    time_point soon(time_point wanted) {
        if (chance_.below(12) == 0) return clock_.now() + span(3 * sim_lease);
        return std::max(clock_.now(), wanted) + span(500ms);
    }

    void act(sim_worker& one) {
        const time_point now = clock_.now();
        const bool crashes = one.attempt != nullptr && chance_.below(25) == 0;
        if (crashes) {
            one = {.attempt = nullptr, .next = now + span(60s), .handler_ends = {}};
        } else if (one.attempt == nullptr) {
            look(one, now);
        } else if (one.settling) {
            settle(one, now);
        } else {
            keep(one, now);
        }
    }

    void look(sim_worker& one, time_point now) {
        one.next = now + 1s + span(5s);
        if (!table_.rescue()) return;
        if (const auto stalled = table_.stalled(); stalled && !folder_.empty()) {
            for (const auto& left : *stalled) {
                static_cast<void>(detail::complete_output(table_, left));
            }
        }
        const auto found = table_.peek("default", 8);
        if (!found) return;
        for (const std::string& id : *found) {
            auto claimed = task_attempt::claim(table_, id, {sim_lease, 10min, "w"});
            if (!claimed || *claimed == nullptr) continue;
            one.attempt = std::move(*claimed);
            begin_output(*one.attempt);
            one.settling = false;
            one.handler_ends = now + span(90s);
            one.next = soon(now);
            return;
        }
    }

    /// What is published says which claim made it.
    void begin_output(task_attempt& attempt) {
        if (folder_.empty()) return;
        const auto staged = attempt.output((folder_ / attempt.row().id).native());
        ASSERT_TRUE(staged) << staged.error().detail << ", seed " << seed_;
        std::ofstream(*staged + "/fence") << attempt.row().fence.value;
    }

    void check_output(const task_info& row) {
        if (folder_.empty()) return;
        std::ifstream file(folder_ / row.id / "fence");
        std::uint64_t fence = 0;
        file >> fence;
        EXPECT_EQ(fence, row.state == task_state::finished ? row.fence.value : 0)
            << "it has the output of another claim, seed " << seed_;
    }

    void keep(sim_worker& one, time_point now) {
        const time_point wake = one.attempt->keep(now);
        const bool stopped = one.attempt->stop().stop_requested();
        if (stopped || now >= one.handler_ends) {
            detail::handler_end how;
            if (stopped || chance_.below(4) == 0) how.why = error{errc::unavailable, "no luck"};
            one.attempt->end(std::move(how));
            one.settling = true;
            one.next = soon(now);
            return;
        }
        one.next = soon(std::min(wake, one.handler_ends));
    }

    void settle(sim_worker& one, time_point now) {
        if (const auto again = one.attempt->settle(now)) {
            one.next = soon(*again);
            return;
        }
        if (one.attempt->ended().what == attempt_end::kind::finished) {
            ++finished_[one.attempt->row().id];
        }
        one = {.attempt = nullptr, .next = now + span(2s), .handler_ends = {}};
    }

    void check_exclusion() {
        std::map<std::string, int> holders;
        for (const sim_worker& one : workers_) {
            if (one.attempt == nullptr || one.settling || !one.attempt->valid(clock_.now()))
                continue;
            EXPECT_EQ(++holders[one.attempt->row().id], 1) << "two run one task, seed " << seed_;
        }
    }

    bool all_ended() {
        const bool faulty = std::exchange(faulty_, false);
        const auto rows = table_.list({}).value();
        for (const task_info& row : rows) {
            if (const auto old = ended_.find(row.id); old != ended_.end()) {
                EXPECT_EQ(old->second, row.state) << "it ended twice, seed " << seed_;
            } else if (has_ended(row.state)) {
                ended_[row.id] = row.state;
            }
        }
        faulty_ = faulty;
        return ended_.size() == ids_.size();
    }

    void check_ends() {
        EXPECT_TRUE(all_ended()) << "some never end, seed " << seed_;
        const auto rows = table_.list({}).value();
        for (const task_info& row : rows) check_output(row);
        for (const auto& [id, state] : ended_) {
            EXPECT_TRUE(state == task_state::finished || state == task_state::dead);
            EXPECT_LE(finished_[id], state == task_state::finished ? 1 : 0) << "seed " << seed_;
        }
    }

    task_table& table_;
    virtual_clock& clock_;
    bool& faulty_;
    const std::uint64_t seed_;
    const std::filesystem::path folder_;
    seeded_entropy chance_;
    std::array<sim_worker, 3> workers_;
    std::vector<std::string> ids_;
    std::map<std::string, task_state> ended_;
    std::map<std::string, int> finished_;
};

class task_simulation : public testing::Test {
protected:
    task_table make_table() {
        return {std::make_unique<test::wrapped_task_file>(
                    folder_.path() / "tasks.db", time_,
                    [this](std::unique_ptr<sql::connection> real) {
                        return std::make_unique<faulty_connection>(std::move(real), chance_,
                                                                   faulty_);
                    }),
                detail::writers::one_at_a_time,
                {.time = &time_, .chance = &chance_}};
    }

    virtual_clock time_;
    test::temporary_directory folder_;
    seeded_entropy chance_{1};
    bool faulty_ = false;
};

TEST_F(task_simulation, each_task_ends_once_whatever_crashes_pauses_or_fails_to_answer) {
    task_table table = make_table();
    for (std::uint64_t seed = 1; seed <= 1000 && !HasFailure(); ++seed) {
        simulation(table, time_, faulty_, seed).run();
        ASSERT_TRUE(table.forget(0s));
    }
}

// Fewer: what is published is written to the disk.
TEST_F(task_simulation, what_is_published_is_of_the_claim_that_finished) {
    task_table table = make_table();
    for (std::uint64_t seed = 1; seed <= 40 && !HasFailure(); ++seed) {
        simulation(table, time_, faulty_, seed, folder_.path() / "out").run();
        ASSERT_TRUE(table.forget(0s));
    }
}

}  // namespace
}  // namespace holdfast
