// SPDX-License-Identifier: Apache-2.0
//
// Several names together: all or nothing, or each for itself.
#include "conformance/lease/counting_store.hpp"
#include "conformance/lease/interposed_store.hpp"
#include "conformance/lease/mutex_fixture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class lease_set_promise : public mutex_case {
protected:
    static std::vector<std::string> sixteen() {
        std::vector<std::string> names;
        for (int i = 0; i < 16; ++i) names.push_back(fmt::format("seat/{}", i));
        return names;
    }
    static std::vector<std::string_view> views(const std::vector<std::string>& names) {
        return {names.begin(), names.end()};
    }
};

TEST_P(lease_set_promise, all_names_are_held_together_each_with_a_fence_of_its_own) {
    auto all = one.acquire_all({"c", "a", "b"}, options()).value();
    ASSERT_EQ(all.leases().size(), 3U);
    EXPECT_EQ(all.leases()[0].name().value(), "c") << "in the order in which they were named";
    EXPECT_TRUE(all.held());
    EXPECT_GT(all.remaining(), 0s);
    for (const auto* name : {"a", "b", "c"}) {
        EXPECT_EQ(two.mutex(name).try_acquire(options()).error(), errc::busy);
        EXPECT_GT(all.fence(name).value().value, 0U);
    }
    EXPECT_EQ(all.fence("d"), std::nullopt);
    EXPECT_TRUE(std::move(all).release());
    for (const auto* name : {"a", "b", "c"}) EXPECT_TRUE(is_free(name));
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(lease_set_promise,
       sixteen_names_that_nobody_wants_are_one_exchange_and_one_more_to_give_back) {
    const auto counted = std::make_shared<counting_store>(bed->make_store());
    auto watched = bed->client_on(counted);
    const auto names = sixteen();
    auto all = watched.acquire_all(views(names), options()).value();
    EXPECT_EQ(counted->exchanges(), 1);
    EXPECT_EQ(counted->requests(), 16);
    EXPECT_TRUE(std::move(all).release());
    EXPECT_EQ(counted->exchanges(), 2);
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(lease_set_promise, if_one_is_not_to_be_had_none_is_held) {
    const auto held = take(two, "b");
    EXPECT_EQ(one.acquire_all({"a", "b", "c"}, options()).error(), errc::busy);
    EXPECT_TRUE(is_free("a"));
    EXPECT_TRUE(is_free("c"));
    EXPECT_EQ(one.statistics().held, 0U);
}

TEST_P(lease_set_promise, while_it_waits_for_one_it_holds_no_later_one) {
    auto held = take(two, "b");
    auto waits = std::async(std::launch::async,
                            [&] { return one.acquire_all({"c", "b", "a"}, options(forever)); });
    // All are asked for at once, so that the place may come before the lease.
    wait_for("it to stand in line for b", [&] { return waiting("b") == 1; });
    wait_for("it to hold a", [&] { return !two.list("a")->empty(); });
    EXPECT_EQ(two.mutex("a").try_acquire(options()).error(), errc::busy);
    wait_for("it to have given c back", [&] { return is_free("c"); });
    EXPECT_TRUE(std::move(held).release());
    auto all = waits.get().value();
    EXPECT_TRUE(all.held());
    EXPECT_FALSE(is_free("c"));
    EXPECT_TRUE(std::move(all).release());
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(lease_set_promise, callers_that_name_the_same_in_other_orders_never_block_each_other) {
    constexpr std::size_t callers = 6;
    constexpr int rounds = 10;
    std::array<std::atomic<int>, 4> inside{};
    std::atomic<int> collisions = 0;
    std::atomic<int> done = 0;
    std::vector<std::jthread> crowd;
    for (std::size_t i = 0; i < callers; ++i) {
        crowd.emplace_back([&, i] {
            seeded_entropy chance(i);
            std::array<std::size_t, 4> order{0, 1, 2, 3};
            for (int round = 0; round < rounds; ++round) {
                for (std::size_t k = 3; k > 0; --k) {
                    std::swap(order[k], order[chance.below(k + 1)]);
                }
                std::vector<std::string> names;
                for (std::size_t k = 0; k < 3; ++k) names.push_back(fmt::format("n{}", order[k]));
                auto all = (i % 2 == 0 ? one : two).acquire_all(views(names), options(forever));
                if (!all) {
                    ADD_FAILURE() << to_string(all.error());
                    return;
                }
                for (std::size_t k = 0; k < 3; ++k) collisions += inside[order[k]]++;
                for (std::size_t k = 0; k < 3; ++k) --inside[order[k]];
                if (std::move(*all).release()) ++done;
            }
        });
    }
    crowd.clear();
    EXPECT_EQ(collisions, 0);
    EXPECT_EQ(done, static_cast<int>(callers) * rounds);
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(lease_set_promise, a_wait_that_is_cancelled_or_out_of_time_leaves_nothing_behind) {
    const auto held = take(two, "b");
    std::stop_source stop;
    auto waits = std::async(std::launch::async, [&] {
        return one.acquire_all({"a", "b"}, {.ttl = ttl, .stop = stop.get_token()}).error();
    });
    wait_for("it to stand in line", [&] { return waiting("b") == 1; });
    stop.request_stop();
    EXPECT_EQ(waits.get(), errc::cancelled);
    EXPECT_TRUE(is_free("a"));
    wait_for("it to be gone", [&] { return waiting("b") == 0; });
    auto late = std::async(std::launch::async,
                           [&] { return one.acquire_all({"a", "b"}, options(200ms)).error(); });
    wait_for("the next to stand in line", [&] { return waiting("b") == 1; });
    EXPECT_EQ(pass_until(late), errc::timed_out);
    EXPECT_TRUE(is_free("a"));
    expect_nobody_waits("b");
    EXPECT_EQ(one.acquire_all({"a"}, {.ttl = ttl, .stop = stop.get_token()}).error(),
              errc::cancelled);
}

TEST_P(lease_set_promise, when_one_is_lost_the_set_is) {
    auto all = one.acquire_all({"a", "b"}, options()).value();
    EXPECT_EQ(two.evict("b", "make room"), 1U);
    bed->pass(ttl / 3 + 1ms);
    wait_for("lost() to fire", [&] { return all.lost().stop_requested(); });
    EXPECT_FALSE(all.held());
    EXPECT_EQ(all.remaining(), 0s);
    EXPECT_EQ(std::move(all).release().error(), errc::lease_lost);
    EXPECT_TRUE(is_free("a")) << "what was left was given back";
}

TEST_P(lease_set_promise, a_set_that_goes_out_of_scope_is_given_back) {
    {
        auto all = one.acquire_all({"a", "b"}, options()).value();
        auto moved = std::move(all);
        EXPECT_TRUE(moved.held());
        EXPECT_FALSE(all.held());  // NOLINT(bugprone-use-after-move): that is what is asked
        EXPECT_EQ(std::move(all).release().error(), errc::invalid_argument);
    }
    wait_for("both to be free", [&] { return is_free("a") && is_free("b"); });
}

TEST_P(lease_set_promise, an_answer_that_is_lost_is_asked_for_again) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto shaky = bed->client_on(line);
    line->set_for(interposed_store::line::one_way, 1);
    auto all = shaky.acquire_all({"a", "b", "c"}, options()).value();
    EXPECT_TRUE(all.held());
    line->set_for(interposed_store::line::one_way, 1);
    EXPECT_TRUE(std::move(all).release());
    line->set(interposed_store::line::cut);
    EXPECT_EQ(shaky.acquire_all({"a", "b"}, options()).error(), errc::unavailable);
    EXPECT_TRUE(bed->leftovers().empty());
    line->set(interposed_store::line::whole);  // so that closing can look for late requests
}

TEST_P(lease_set_promise, bad_lists_of_names_are_refused) {
    EXPECT_EQ(one.acquire_all({}, options()).error(), errc::invalid_argument);
    EXPECT_EQ(one.acquire_all({"a", "b", "a"}, options()).error(), errc::invalid_argument);
    EXPECT_EQ(one.acquire_all({"a", ""}, options()).error(), errc::invalid_argument);
    EXPECT_EQ(one.acquire_all({"a"}, {.ttl = 0s}).error(), errc::invalid_argument);
    const std::vector<std::string_view> many(client::max_names + 1, "a");
    EXPECT_EQ(one.acquire_all(many, options()).error(), errc::invalid_argument);
    for (const auto& each : one.acquire_each(many, options())) {
        EXPECT_EQ(each.error(), errc::invalid_argument);
    }
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(lease_set_promise, of_each_name_for_itself_those_are_got_that_are_free) {
    const auto held = take(two, "b");
    const auto got = one.acquire_each({"a", "b", "", "c"}, {.ttl = ttl});
    ASSERT_EQ(got.size(), 4U);
    EXPECT_TRUE(got[0] && got[0]->held());
    EXPECT_EQ(got[1].error(), errc::busy) << "it does not wait";
    EXPECT_EQ(got[2].error(), errc::invalid_argument);
    EXPECT_EQ(got[3].value().name().value(), "c");
    EXPECT_TRUE(one.acquire_each({}, options()).empty());
}

HOLDFAST_ON_EVERY_ENGINE(lease_set_promise);

}  // namespace
}  // namespace holdfast::test
