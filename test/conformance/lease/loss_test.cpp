// SPDX-License-Identifier: Apache-2.0
//
// How a lease is kept, and how its loss and every lost answer are told, on every engine.
#include "conformance/lease/interposed_store.hpp"
#include "conformance/lease/mutex_fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class loss_promise : public mutex_case {};

TEST_P(loss_promise, a_lease_is_kept_for_as_long_as_it_is_held) {
    auto held = take(one);
    live_through(3 * ttl, one);
    EXPECT_TRUE(held.held());
    EXPECT_FALSE(held.lost().stop_requested());
    EXPECT_FALSE(is_free());
    EXPECT_GE(one.statistics().renewed, 3U) << "two thirds of a ttl is the longest pause";
    EXPECT_TRUE(std::move(held).release());
}

TEST_P(loss_promise, a_holder_that_is_cut_off_knows_before_anyone_else_can_hold_it) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto cut_off = bed->client_on(line);
    const time_point asked = bed->time().now();
    const auto held = take(cut_off);
    line->set(interposed_store::line::black_hole);
    bool jeopardy = false;
    while (held.held()) {
        EXPECT_LT(bed->time().now(), asked + ttl) << "told after the engine's own expiry";
        jeopardy = jeopardy || held.status() == lease_status::jeopardy;
        bed->pass(ttl / 1000);  // a small part of the time between our end and the engine's
    }
    const bool taken = !is_free();
    EXPECT_TRUE(taken || bed->time().now() >= asked + ttl)
        << "the engine must still exclude others at that moment";
    EXPECT_EQ(held.status(), lease_status::lost);
    EXPECT_EQ(held.reason(), loss_reason::expired);
    EXPECT_EQ(held.remaining(), duration::zero());
    wait_for("lost() to fire", [&] { return held.lost().stop_requested(); });
    bed->pass(ttl);
    EXPECT_TRUE(is_free());
}

TEST_P(loss_promise, a_renewal_that_fails_for_a_while_costs_nothing) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto shaky = bed->client_on(line);
    auto held = take(shaky);
    line->set(interposed_store::line::cut);
    bed->pass(ttl / 3);
    wait_for("a failed renewal", [&] { return shaky.statistics().renewal_failures > 0; });
    wait_for("jeopardy", [&] { return held.status() == lease_status::jeopardy; });
    EXPECT_TRUE(held.held());
    line->set(interposed_store::line::whole);
    bed->pass(ttl / 10);
    wait_for("a renewal", [&] { return shaky.statistics().renewed > 0; });
    EXPECT_EQ(held.status(), lease_status::held);
    EXPECT_TRUE(std::move(held).release());
}

TEST_P(loss_promise, a_paused_holder_sees_its_loss_at_the_first_look) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto sleeper = bed->client_on(line);
    auto held = take(sleeper);
    line->set(interposed_store::line::black_hole);  // a paused process sends nothing
    bed->pass(ttl + bed->late() + 5ms);
    EXPECT_FALSE(held.held());
    const auto next = take(two);
    line->set(interposed_store::line::whole);
    EXPECT_GT(next.fence(), held.fence()) << "so a resource that checks it refuses the old one";
    EXPECT_EQ(std::move(held).release().error(), errc::lease_lost);
    EXPECT_TRUE(next.held());
    EXPECT_FALSE(is_free());
}

TEST_P(loss_promise, a_lease_that_the_engine_forgot_is_lost_at_the_next_renewal) {
    const auto held = take(one);
    std::atomic<bool> told = false;
    const std::stop_callback callback(held.lost(), [&] { told = true; });
    bed->forget("job");
    bed->pass(ttl / 3 + 1ms);
    wait_for("the loss", [&] { return told.load(); });
    EXPECT_EQ(held.status(), lease_status::lost);
    EXPECT_EQ(held.reason(), loss_reason::missing);
    EXPECT_EQ(one.statistics().lost, 1U);
}

TEST_P(loss_promise, max_hold_ends_a_task_that_never_ends) {
    const auto held =
        one.mutex("job").acquire({.ttl = ttl, .wait = 0s, .max_hold = 2 * ttl}).value();
    const time_point end = bed->time().now() + 2 * ttl;
    live_through(2 * ttl, one, [&] {  // the last renewals ask for what is left
        const bool last = held.remaining() + ttl / 200 > end - bed->time().now();
        return last ? ttl : held.remaining();
    });
    wait_for("the loss", [&] { return held.lost().stop_requested(); });
    EXPECT_EQ(held.reason(), loss_reason::max_hold);
    bed->pass(ttl + bed->late() + 5ms);
    EXPECT_TRUE(is_free());
}

TEST_P(loss_promise, a_callback_of_loss_may_use_the_client) {
    const auto held = take(one);
    std::atomic<bool> done = false;
    const std::stop_callback callback(held.lost(), [&] {
        auto other = one.mutex("other").try_acquire(options());
        done = other && std::move(*other).release();
    });
    bed->forget("job");
    bed->pass(ttl / 3 + 1ms);
    wait_for("the callback", [&] { return done.load(); });
}

TEST_P(loss_promise, a_callback_that_blocks_delays_the_loss_of_no_other_lease) {
    std::promise<void> go;
    const auto gate = go.get_future().share();
    std::atomic<int> blocked = 0;
    std::vector<lease> held;
    std::vector<std::unique_ptr<std::stop_callback<std::function<void()>>>> callbacks;
    for (int i = 0; i < 10; ++i) {
        const std::string name = "job" + std::to_string(i);
        held.push_back(take(one, name));
        callbacks.push_back(
            std::make_unique<std::stop_callback<std::function<void()>>>(held.back().lost(), [&] {
                ++blocked;
                gate.wait();
            }));
        bed->forget(name);
    }
    const auto other = take(one, "other");
    bed->forget("other");
    bed->pass(ttl / 3 + 1ms);
    wait_for("all ten callbacks", [&] { return blocked == 10; });
    wait_for("lost() of another lease", [&] { return other.lost().stop_requested(); });
    EXPECT_EQ(one.statistics().lost, 11U);
    go.set_value();
}

TEST_P(loss_promise, an_acquire_whose_answer_was_lost_is_settled_by_asking_again) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto shaky = bed->client_on(line);
    line->set_for(interposed_store::line::one_way, 1);
    auto held = shaky.mutex("job").try_acquire(options());
    ASSERT_TRUE(held) << "it was granted by the lost answer: asking again must not be refused by "
                         "itself";
    EXPECT_FALSE(is_free());
    EXPECT_TRUE(std::move(*held).release());
    EXPECT_TRUE(is_free());
}

TEST_P(loss_promise, an_acquire_that_stays_unknown_is_undone_in_the_background) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto shaky = bed->client_on(line);
    line->set(interposed_store::line::one_way);
    const auto got = shaky.mutex("job").try_acquire(options());
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error(), errc::outcome_unknown);
    line->set(interposed_store::line::whole);
    // The background may only now have heard of it. Time must not run away from it either.
    wait_for("the leftover to be undone", [&, looks = 0]() mutable {
        if (looks++ % 50 == 0) bed->pass(300ms);
        return is_free();
    });
}

TEST_P(loss_promise, a_release_whose_answer_was_lost_is_settled_by_asking_again) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto shaky = bed->client_on(line);
    auto held = take(shaky);
    line->set_for(interposed_store::line::one_way, 1);
    EXPECT_TRUE(std::move(held).release());
    EXPECT_TRUE(is_free());
}

TEST_P(loss_promise, an_engine_that_is_away_is_unavailable_and_nothing_is_held) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto away = bed->client_on(line);
    line->set(interposed_store::line::cut);
    const auto got = away.mutex("job").try_acquire(options());
    EXPECT_EQ(got.error(), errc::unavailable);
    EXPECT_TRUE(is_free());
    EXPECT_EQ(away.statistics().failed, 1U);
}

TEST_P(loss_promise, a_child_of_fork_holds_nothing_and_disturbs_nothing) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "allowed: the thread sanitizer does not follow a process with threads through "
                    "fork(); the other builds run this";
#endif
    auto held = take(one);
    const pid_t child = ::fork();
    if (child == 0) {
        const bool right = !held.held() && held.reason() == loss_reason::forked &&
                           one.mutex("x").try_acquire(options()).error() == errc::invalid_argument;
        {
            const lease dropped = std::move(held);
        }
        {
            const client gone = std::move(one);
        }
        ::_exit(right ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_TRUE(held.held());
    EXPECT_FALSE(is_free());
    EXPECT_TRUE(std::move(held).release());
}

HOLDFAST_ON_EVERY_ENGINE(loss_promise);

}  // namespace
}  // namespace holdfast::test
