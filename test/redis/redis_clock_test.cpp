// SPDX-License-Identifier: Apache-2.0
//
// A server whose time of day is set while leases are held: it ends them by that time.
#include "support/redis_server.hpp"
#include "support/shifted_clock.hpp"
#include "support/wait_for.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/prometheus.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

class redis_clock : public testing::Test {
protected:
    client connect(client_options options = {}) { return open(server.url(), options).value(); }

    test::shifted_clock time;
    test::redis_server server{
        {.preload = test::shifted_clock::library(), .environment = time.environment()}};
};

TEST_F(redis_clock, a_step_that_ended_a_lease_is_noticed_by_its_first_renewal) {
    std::atomic<duration> told = duration::zero();
    auto one =
        connect({.observer = {.clock_stepped = [&](const clock_step_event& e) { told = e.by; }}});
    auto held = one.mutex("job").acquire({.ttl = 3s}).value();
    time.step(1min);
    EXPECT_EQ(server.raw("EXISTS", "lock:job").number(), 0) << "the server has ended it";
    test::wait_for("the loss", [&] { return held.lost().stop_requested(); });
    EXPECT_EQ(held.reason(), loss_reason::missing);
    EXPECT_EQ(one.statistics().clock_steps, 1U);
    test::wait_for("the observer", [&] { return told.load() != duration::zero(); });
    EXPECT_GT(told.load(), 59s);
    EXPECT_LT(told.load(), 61s);
    const std::string shown = to_prometheus(one.statistics()).value();
    EXPECT_NE(shown.find("holdfast_clock_steps_total 1\n"), std::string::npos) << shown;
}

// The short lease is renewed first: by its answer, the long one is asked for at once, long before
// its own renewal would be due.
TEST_F(redis_clock, a_step_that_one_renewal_notices_is_told_to_all_leases_of_the_client_at_once) {
    std::mutex guard;
    std::vector<std::string> shaken;
    auto one = connect({.observer = {.jeopardy = [&](const jeopardy_event& e) {
                            const std::scoped_lock held(guard);
                            shaken.push_back(e.name.value() + ": " + e.why.detail);
                        }}});
    const auto quick = one.mutex("quick").acquire({.ttl = 1500ms}).value();
    const auto gone = one.mutex("gone").acquire({.ttl = 1min}).value();
    const auto kept = one.mutex("kept").acquire({.ttl = 10min}).value();
    time.step(90s);
    test::wait_for("the loss", [&] { return gone.lost().stop_requested(); }, 5s);
    EXPECT_EQ(gone.reason(), loss_reason::missing);
    test::wait_for("the other's renewal", [&] { return kept.status() == lease_status::held; }, 5s);
    EXPECT_TRUE(kept.held()) << "ten minutes are more than the step";
    test::wait_for("the observer", [&] {
        const std::scoped_lock held(guard);
        return shaken.size() == 2;
    });
    const std::scoped_lock held(guard);
    EXPECT_NE(shaken[0].find("the engine's clock was set forward by"), std::string::npos)
        << shaken[0];
}

TEST_F(redis_clock, by_policy_what_was_not_renewed_since_a_step_is_lost_and_given_back) {
    auto one = connect({.on_clock_step = clock_step_policy::lose});
    const auto quick = one.mutex("quick").acquire({.ttl = 1500ms}).value();
    const auto other = one.mutex("other").acquire({.ttl = 10min}).value();
    time.step(30s);
    test::wait_for("the loss", [&] { return other.lost().stop_requested(); }, 5s);
    EXPECT_EQ(other.reason(), loss_reason::expired);
    test::wait_for("it to be given back",
                   [&] { return server.raw("EXISTS", "lock:other").number() == 0; });
}

TEST_F(redis_clock, a_step_back_is_counted_and_costs_no_lease) {
    auto one = connect({.on_clock_step = clock_step_policy::lose});
    auto held = one.mutex("job").acquire({.ttl = 1500ms}).value();
    const auto other = one.mutex("other").acquire({.ttl = 1min}).value();
    test::wait_for("a renewal", [&] { return one.statistics().renewed > 0; });
    time.step(-1min);
    test::wait_for("the step to be noticed", [&] { return one.statistics().clock_steps == 1; });
    EXPECT_TRUE(held.held());
    EXPECT_TRUE(other.held());
    EXPECT_EQ(other.status(), lease_status::held);
    EXPECT_TRUE(std::move(held).release());
}

TEST_F(redis_clock, a_clock_that_nobody_sets_is_not_suspected) {
    auto one = connect();
    const auto held = one.mutex("job").acquire({.ttl = 300ms}).value();
    test::wait_for("many renewals", [&] { return one.statistics().renewed >= 10; });
    EXPECT_EQ(one.statistics().clock_steps, 0U);
}

}  // namespace
}  // namespace holdfast
