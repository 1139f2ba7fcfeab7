// SPDX-License-Identifier: Apache-2.0
//
// What an observer hears of the leases of its client, on every engine, and what the statistics say.
#include "conformance/lease/interposed_store.hpp"
#include "conformance/lease/mutex_fixture.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

class observer_promise : public mutex_case {
protected:
    /// Everything that is heard, as a word and a name each.
    lease_observer everything() {
        return {
            .acquired =
                [this](const acquired_event& e) {
                    EXPECT_GE(e.waited, duration::zero());
                    note(fmt::format("acquired {} {}", e.name.value(), to_string(e.path)));
                },
            .refused =
                [this](const refused_event& e) {
                    note(fmt::format("refused {} {}", e.name.value(), to_string(e.why.code)));
                },
            .released =
                [this](const released_event& e) {
                    EXPECT_GE(e.held, duration::zero());
                    note(fmt::format("released {}", e.name.value()));
                },
            .renewed =
                [this](const renewed_event& e) {
                    EXPECT_GT(e.slack, duration::zero());
                    note(fmt::format("renewed {}", e.name.value()));
                },
            .jeopardy =
                [this](const jeopardy_event& e) {
                    EXPECT_GT(e.left, duration::zero());
                    note(fmt::format("jeopardy {} {}", e.name.value(), to_string(e.why.code)));
                },
            .lost =
                [this](const lost_event& e) {
                    EXPECT_GT(e.fence.value, 0U);
                    note(fmt::format("lost {} {}", e.name.value(), to_string(e.reason)));
                },
        };
    }
    void note(std::string what) {
        const std::scoped_lock lock(guard_);
        heard_.push_back(std::move(what));
    }
    std::vector<std::string> heard() {
        const std::scoped_lock lock(guard_);
        return heard_;
    }
    void wait_to_hear(std::size_t count) {
        wait_for("what is to be heard", [&] { return heard().size() >= count; });
    }

private:
    std::mutex guard_;
    std::vector<std::string> heard_;
};

TEST_P(observer_promise, a_holding_is_told_from_its_grant_to_its_release) {
    auto watched = bed->make_client({.observer = everything()});
    auto held = take(watched);
    EXPECT_FALSE(watched.mutex("job").try_acquire(options()));
    EXPECT_TRUE(std::move(held).release());
    static_cast<void>(take(watched));  // released by its destructor
    wait_to_hear(5);
    EXPECT_THAT(heard(), ElementsAre("acquired job at_once", "refused job busy", "released job",
                                     "acquired job at_once", "released job"));
}

TEST_P(observer_promise, how_a_waiter_got_its_lease_is_told) {
    auto watched = bed->make_client({.observer = everything()});
    acquire_options passing = options(forever);
    passing.local_passes = 1;
    const auto wait = [&] { return watched.mutex("job").acquire(passing).value(); };
    auto held = take(two);
    auto waiter = std::async(std::launch::async, wait);
    wait_for_waiters(1);
    ASSERT_TRUE(std::move(held).release());
    ASSERT_TRUE(waiter.get().release());
    auto first = wait();
    auto behind = std::async(std::launch::async, wait);
    wait_for("it to wait", [&] { return watched.statistics().waiting == 1; });
    ASSERT_TRUE(std::move(first).release());
    ASSERT_TRUE(behind.get().release());
    wait_to_hear(6);
    auto all = heard();
    std::ranges::sort(all);  // a release and the grant that it makes happen at once
    // At most servers of a quorum the release may come before the waiter: then nobody was there.
    const bool overtaken = !two.can().fair && all.at(1) == all.at(0);
    const std::string looked = overtaken ? "at_once" : "polled";
    const std::string told = two.can().fair ? "handed_off" : looked;
    EXPECT_THAT(all, UnorderedElementsAre("acquired job at_once", "acquired job " + told,
                                          "acquired job passed_on", "released job", "released job",
                                          "released job"));
    EXPECT_EQ(watched.statistics().waiting_time.count(), overtaken ? 1U : 2U);
}

TEST_P(observer_promise, who_waited_behind_another_of_its_client_has_waited) {
    auto watched = bed->make_client({.observer = {.acquired = everything().acquired}});
    auto held = watched.mutex("job").acquire(options(forever)).value();
    std::vector<std::future<result<void>>> all;
    for (int i = 0; i < 2; ++i) {
        all.push_back(std::async(std::launch::async, [&] {
            return watched.mutex("job").acquire(options(forever)).value().release();
        }));
    }
    wait_for("both to wait", [&] { return watched.statistics().waiting == 2; });
    wait_for_waiters(1);  // one of them in the engine's line, the other behind it
    ASSERT_TRUE(std::move(held).release());
    for (auto& one_of : all) EXPECT_TRUE(one_of.get());
    wait_to_hear(3);
    EXPECT_EQ(watched.statistics().waited, 2U);
    EXPECT_EQ(watched.statistics().waiting_time.count(), 2U);
    EXPECT_EQ(heard()[0], "acquired job at_once");
    EXPECT_NE(heard()[1], "acquired job at_once");
    EXPECT_NE(heard()[2], "acquired job at_once");
}

TEST_P(observer_promise, a_failing_renewal_is_told_once_and_then_its_end) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto shaky = bed->client_on(line, {.observer = everything()});
    const auto held = take(shaky);
    line->set(interposed_store::line::cut);
    bed->pass(ttl / 3);
    wait_to_hear(2);
    line->set(interposed_store::line::whole);
    bed->pass(ttl / 10);
    wait_to_hear(3);
    line->set(interposed_store::line::black_hole);
    while (held.held()) bed->pass(ttl / 20);
    wait_for("the loss", [&] { return shaky.statistics().lost == 1; });
    wait_for("the last word", [&] { return heard().back() == "lost job expired"; });
    auto all = heard();
    ASSERT_GE(all.size(), 4U);
    all.resize(3);
    EXPECT_THAT(all,
                ElementsAre("acquired job at_once", "jeopardy job unavailable", "renewed job"));
    EXPECT_EQ(shaky.statistics().lost_by_reason.expired, 1U);
    EXPECT_GE(shaky.statistics().renewal_slack.count(), 1U);
    line->set(interposed_store::line::whole);  // it gives back what it lost, and waits for that
}

TEST_P(observer_promise, every_reason_of_a_loss_is_told_and_counted_apart) {
    auto watched = bed->make_client({.observer = {.lost = everything().lost}});
    const auto forgotten = take(watched, "forgotten");
    const auto endless =
        watched.mutex("endless").acquire({.ttl = ttl, .wait = 0s, .max_hold = ttl / 2}).value();
    const auto kept = take(watched, "kept");
    bed->forget("forgotten");
    live_through(ttl / 2, watched);
    wait_to_hear(2);
    watched.close();
    EXPECT_THAT(heard(),
                testing::UnorderedElementsAre("lost forgotten missing", "lost endless max_hold",
                                              "lost kept closed"));
    const auto lost = watched.statistics().lost_by_reason;
    EXPECT_EQ(lost.missing, 1U);
    EXPECT_EQ(lost.max_hold, 1U);
    EXPECT_EQ(lost.closed, 1U);
    EXPECT_EQ(watched.statistics().lost, 3U);
}

TEST_P(observer_promise, an_observer_may_use_the_client_and_what_it_throws_ends_there) {
    client* self = nullptr;
    std::promise<bool> again;
    auto watched = bed->make_client({.observer = {.released = [&](const released_event& e) {
                                         if (e.name.value() != "job") return;
                                         auto other = self->mutex("other").acquire(options());
                                         again.set_value(other && std::move(*other).release());
                                         throw 1;
                                     }}});
    self = &watched;
    EXPECT_TRUE(take(watched).release());
    EXPECT_TRUE(again.get_future().get());
}

TEST_P(observer_promise, an_observer_may_close_its_client) {
    client* self = nullptr;
    std::promise<void> closed;
    auto watched = bed->make_client({.observer = {.acquired = [&](const acquired_event&) {
                                         self->close();
                                         closed.set_value();
                                     }}});
    self = &watched;
    const auto held = take(watched);
    closed.get_future().get();
    EXPECT_EQ(held.reason(), loss_reason::closed);
}

TEST_P(observer_promise, a_slow_observer_delays_no_lock_and_its_surplus_is_dropped_and_counted) {
    std::promise<void> go;
    auto gate = go.get_future().share();
    std::atomic<int> told = 0;
    auto watched = bed->make_client({.observer = {.acquired =
                                                      [&](const acquired_event&) {
                                                          gate.wait();
                                                          ++told;
                                                      }},
                                     .observer_queue = 2});
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(take(watched).release());
    EXPECT_GE(watched.statistics().observations_dropped, 7U);
    go.set_value();
    watched.close();
    EXPECT_EQ(watched.statistics().observations_dropped + static_cast<unsigned>(told), 10U);
}

TEST_P(observer_promise, an_observer_that_blocks_delays_no_loss) {
    std::promise<void> go;
    const auto gate = go.get_future().share();
    std::atomic<bool> told = false;
    auto watched =
        bed->make_client({.observer = {.acquired = [&](const acquired_event&) { gate.wait(); }}});
    const auto held = take(watched);
    const std::stop_callback callback(held.lost(), [&] { told = true; });
    bed->forget("job");
    bed->pass(ttl / 3 + 1ms);
    wait_for("lost() beside a blocked observer", [&] { return told.load(); });
    EXPECT_EQ(watched.statistics().lost, 1U);
    go.set_value();
}

TEST_P(observer_promise, a_listener_hears_of_its_own_lease_alone) {
    acquire_options watched = options();
    watched.listener = listen(everything());
    auto held = one.mutex("job").acquire(watched).value();
    const auto other = take(one, "other");
    ASSERT_TRUE(held.renew());
    EXPECT_EQ(two.mutex("job").try_acquire(watched).error(), errc::busy);
    ASSERT_TRUE(std::move(held).release());
    wait_to_hear(4);
    EXPECT_THAT(heard(), testing::UnorderedElementsAre("acquired job at_once", "renewed job",
                                                       "refused job busy", "released job"));
    const auto lost = one.mutex("job").acquire(watched).value();
    bed->forget("job");
    bed->pass(ttl / 2);
    wait_to_hear(6);
    EXPECT_EQ(heard().back(), "lost job missing");
}

HOLDFAST_ON_EVERY_ENGINE(observer_promise);

}  // namespace
}  // namespace holdfast::test
