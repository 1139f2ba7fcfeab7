// SPDX-License-Identifier: Apache-2.0
//
// How locks of this kind have failed elsewhere, where no other case asks for it
// (docs/internals/peers_defects.md).
#include "conformance/lease/counting_store.hpp"
#include "conformance/lease/interposed_store.hpp"
#include "conformance/lease/mutex_fixture.hpp"

#include <filesystem>
#include <future>
#include <optional>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class peer_promise : public mutex_case {};

TEST_P(peer_promise, a_released_lease_is_never_renewed_again) {
    const auto counted = std::make_shared<counting_store>(bed->make_store());
    auto watched = bed->client_on(counted);
    auto held = take(watched);
    bed->pass(ttl / 3 + 1ms);
    wait_for("a renewal", [&] { return watched.statistics().renewed > 0; });
    EXPECT_TRUE(std::move(held).release());
    const int renewals = counted->renewals();
    bed->pass(ttl);
    EXPECT_TRUE(take(watched, "other").release());  // the keeper has seen the new time
    EXPECT_EQ(counted->renewals(), renewals);
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(peer_promise, a_lost_lease_keeps_its_own_fence) {
    const auto held = take(one);
    const auto mine = held.fence();
    bed->forget("job");
    const auto next = take(two);
    EXPECT_GT(next.fence(), mine);
    EXPECT_EQ(held.fence(), mine) << "so a resource that checks it refuses the old one";
}

TEST_P(peer_promise, a_lease_is_released_on_another_thread_than_it_was_acquired_on) {
    std::optional<lease> held;
    std::thread([&] { held.emplace(take(one)); }).join();
    std::thread([&] { EXPECT_TRUE(std::move(*held).release()); }).join();
    EXPECT_TRUE(is_free());
}

TEST_P(peer_promise, letting_go_of_a_lease_waits_for_no_engine) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto cut_off = bed->client_on(line);
    {
        const auto held = take(cut_off);
        line->set(interposed_store::line::cut);
    }  // an engine that is away: neither thrown nor waited for
    EXPECT_EQ(cut_off.statistics().held, 0U);
    line->set(interposed_store::line::whole);
    bed->pass(300ms);
    wait_for("the release", [&] { return is_free(); });
}

TEST_P(peer_promise, no_thread_outlives_its_client) {
    const auto threads = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
    };
    const auto before = threads();
    {
        auto brief = bed->make_client({.observer = {.acquired = [](const acquired_event&) {}}});
        std::promise<void> done;
        brief.mutex("job").acquire_async(options(forever), [&](const result<lease>& got) {
            EXPECT_TRUE(got);
            done.set_value();
        });
        done.get_future().get();
        EXPECT_GT(threads(), before);
    }
    // A joined thread may still be in the list for a moment.
    wait_for("the threads to be gone", [&] { return threads() == before; });
}

TEST_P(peer_promise, a_wait_that_ends_while_it_is_granted_has_one_outcome) {
    for (int i = 0; i < 50; ++i) {
        auto held = take(one);
        std::stop_source stop;
        auto waiter = std::async(std::launch::async, [&] {
            return two.mutex("job").acquire(
                {.ttl = ttl, .wait = forever, .stop = stop.get_token()});
        });
        wait_for("it to wait", [&] { return two.statistics().waiting == 1; });
        std::thread stopper([&] { stop.request_stop(); });
        EXPECT_TRUE(std::move(held).release());
        stopper.join();
        auto got = waiter.get();
        if (got) {
            EXPECT_TRUE(got->held());
            EXPECT_TRUE(std::move(*got).release());
        } else {
            EXPECT_EQ(got.error(), errc::cancelled);
        }
        ASSERT_TRUE(is_free()) << "round " << i << ": a grant that came too late is given back";
    }
}

TEST_P(peer_promise, options_of_one_call_do_not_reach_another) {
    auto m = one.mutex("a", {.ttl = ttl});
    auto first = m.acquire({.ttl = 2 * ttl, .wait = 0s}).value();
    EXPECT_GT(first.remaining(), ttl);
    EXPECT_TRUE(std::move(first).release());
    const auto second = m.try_acquire().value();
    EXPECT_LT(second.remaining(), ttl);
}

HOLDFAST_ON_EVERY_ENGINE(peer_promise);

}  // namespace
}  // namespace holdfast::test
