// SPDX-License-Identifier: Apache-2.0
//
// Who holds a name, who waits for it, and how it is taken away: what people see, on every engine.
#include "conformance/lease/mutex_fixture.hpp"
#include "conformance/lease/seam_fixture.hpp"

#include <gmock/gmock.h>

#include <unistd.h>

#include <algorithm>
#include <future>
#include <mutex>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class introspection : public mutex_case {
protected:
    /// Until the engine knows all there is to know of a lease.
    void wait_for_renewal(client& who) {
        const auto before = who.statistics().renewed;
        bed->pass(ttl / 3 + 1ms);
        wait_for("a renewal", [&] {
            if (who.statistics().renewal_failures > 0) bed->pass(ttl / 30);
            return who.statistics().renewed > before;
        });
    }
    template <class Call>
    auto in_line(Call call) {
        const auto before = waiting();
        auto ended = std::async(std::launch::async, std::move(call));
        wait_for_waiters(before + 1);
        return ended;
    }
    std::future<result<lease>> wait_in_line(client& who) {
        return in_line([&] { return who.mutex("job").acquire(options(forever)); });
    }
    /// For two that wait at once: a quorum promises no order, so neither may wait for the other.
    std::future<result<void>> wait_in_line_and_release(client& who) {
        return in_line(
            [&] { return who.mutex("job").acquire(options(forever)).value().release(); });
    }
    static void expect_this_process(const client_label& who) {
        EXPECT_EQ(who.pid, ::getpid());
        EXPECT_FALSE(who.host.empty());
        EXPECT_EQ(who.program, ::program_invocation_short_name);
    }
};

TEST_P(introspection, a_name_that_nobody_holds_or_waits_for_has_nothing_to_tell) {
    EXPECT_EQ(one.inspect("job").value(), std::nullopt);
    EXPECT_TRUE(take(one).release());
    EXPECT_EQ(one.inspect("job").value(), std::nullopt) << "also after it was held";
    EXPECT_EQ(one.inspect("").error(), errc::invalid_argument);
}

TEST_P(introspection, the_holder_sees_that_it_is_its_own_and_others_that_it_is_held) {
    const auto held = take(one);
    const auto own = one.mutex("job").inspect().value().value();
    EXPECT_TRUE(own.held());
    EXPECT_TRUE(own.mine());
    EXPECT_EQ(own.name, "job");
    ASSERT_EQ(own.holders.size(), 1U);
    EXPECT_LE(own.remaining.value(), ttl);
    EXPECT_GT(own.remaining.value(), 0s);
    const auto others = two.inspect("job").value().value();
    EXPECT_TRUE(others.held());
    EXPECT_FALSE(others.mine());
}

TEST_P(introspection,
       the_holder_of_a_lease_that_was_renewed_is_known_with_its_fence_and_since_when) {
    // An engine that has no clock shows what the holder's own says.
    const auto apart = two.compare_clocks();
    const auto before = (apart ? apart->offset : duration::zero()) + bed->time().wall();
    const auto held = take(one);
    wait_for_renewal(one);
    const auto known = [&] { return two.inspect("job").value().value().holders.at(0); };
    wait_for("the label, which is written in the background", [&] { return known().who.pid != 0; });
    expect_this_process(known().who);
    EXPECT_EQ(known().fence, held.fence());
    EXPECT_EQ(two.inspect("job").value().value().fence, held.fence());
    ASSERT_TRUE(known().since);
    EXPECT_GT(*known().since, before - 1s);
    EXPECT_LT(*known().since, before + 1s) << "when it was taken, not when it was renewed";
}

TEST_P(introspection, the_words_of_a_holder_are_shown_to_whoever_looks) {
    auto with_note = options();
    with_note.note = "migrating shard 7";
    auto held = one.mutex("job").acquire(with_note).value();
    const auto note = [&] { return two.inspect("job").value().value().holders.at(0).note; };
    wait_for("the note", [&] { return note() == "migrating shard 7"; });
    EXPECT_EQ(two.list("job").value().at(0).holders.at(0).note, "migrating shard 7");
    wait_for_renewal(one);
    bed->pass(ttl / 2);
    wait_for_renewal(one);
    bed->pass(ttl / 2);
    EXPECT_EQ(note(), "migrating shard 7") << "it lives as long as the lease";
    EXPECT_TRUE(std::move(held).release());
    const auto next = take(two);
    EXPECT_EQ(note(), "") << "it was not the next holder's";
}

TEST_P(introspection, words_of_one_that_was_handed_the_name_are_shown) {
    auto first = take(one);
    auto waits = in_line([&] {
        auto with_note = options(forever);
        with_note.note = "next in line";
        return two.mutex("job").acquire(with_note);
    });
    EXPECT_TRUE(std::move(first).release());
    const auto held = waits.get().value();
    wait_for("the note", [&] {
        return one.inspect("job").value().value().holders.at(0).note == "next in line";
    });
}

TEST_P(introspection, each_of_several_holders_has_words_of_its_own) {
    if (!one.can().shared) GTEST_SKIP() << "allowed: exclusive leases only";
    auto with_note = options();
    with_note.note = "reads";
    const auto a = one.shared_mutex("page").acquire_shared(with_note).value();
    with_note.note = "reads too";
    const auto b = two.shared_mutex("page").acquire_shared(with_note).value();
    const auto c = two.shared_mutex("page").acquire_shared(options()).value();
    std::vector<std::string> seen;
    wait_for("the notes", [&] {
        seen.clear();
        const auto page = one.inspect("page").value().value();
        for (const auto& who : page.holders) seen.push_back(who.note);
        return std::ranges::count(seen, "") == 1;
    });
    EXPECT_THAT(seen, testing::UnorderedElementsAre("reads", "reads too", ""));
}

TEST_P(introspection, words_that_are_no_short_text_are_refused) {
    auto with_note = options();
    for (const std::string& bad :
         {std::string(), std::string("two\nlines"), std::string("\xff"), std::string(257, 'a')}) {
        with_note.note = bad;
        EXPECT_EQ(one.mutex("job").try_acquire(with_note).error(), errc::invalid_argument);
    }
    const std::string longest(256, 'a');
    with_note.note = longest;
    EXPECT_TRUE(one.mutex("job").try_acquire(with_note));
}

TEST_P(introspection, a_reader_or_a_permit_is_known_for_what_it_is_also_if_it_is_alone) {
    if (!one.can().shared || !one.can().permits) GTEST_SKIP() << "allowed: exclusive leases only";
    const auto reader = one.shared_mutex("page").acquire_shared(options()).value();
    const auto page = two.inspect("page").value().value();
    EXPECT_EQ(page.mode.type, lease_mode::kind::shared);
    EXPECT_EQ(page.holders.size(), 1U);
    const auto permits = one.semaphore("seats", 5).acquire(2, options()).value();
    const auto seats = two.inspect("seats").value().value();
    EXPECT_EQ(seats.mode, (lease_mode{lease_mode::kind::permit, 2, 5}));
    EXPECT_EQ(seats.holders.size(), 1U);
    EXPECT_EQ(seats.resized, std::nullopt) << "five is what they say";
    if (!one.can().resize) return;
    ASSERT_TRUE(two.semaphore("seats", 5).resize(7));
    const auto more = two.inspect("seats").value().value();
    EXPECT_EQ(more.resized, 7U);
    EXPECT_EQ(more.mode, (lease_mode{lease_mode::kind::permit, 2, 7}));
}

TEST_P(introspection, a_listing_tells_the_same_of_every_name_with_the_prefix) {
    const auto a = take(one, "list/a");
    const auto b = take(two, "list/b");
    const auto c = take(two, "other");
    wait_for_renewal(one);
    wait_for("the labels", [&] {
        const auto seen = one.list("list/").value();
        return seen.size() == 2 && seen[0].holders.at(0).who.pid != 0 &&
               seen[1].holders.at(0).who.pid != 0;
    });
    const auto seen = one.list("list/").value();
    EXPECT_EQ(seen[0].name, "list/a");
    EXPECT_TRUE(seen[0].mine());
    EXPECT_FALSE(seen[1].mine());
    expect_this_process(seen[1].holders[0].who);
    EXPECT_TRUE(seen[0].queue.empty()) << "only inspect() tells the line";
}

TEST_P(introspection, those_who_wait_are_told_in_the_order_of_coming) {
    auto three = bed->make_client();
    auto held = take(one);
    auto second = wait_in_line_and_release(two);
    auto third = wait_in_line_and_release(three);
    wait_for("labels", [&] {
        const auto seen = one.inspect("job").value().value();
        return seen.queue.size() == 2 && seen.queue[0].who.pid != 0 && seen.queue[1].who.pid != 0;
    });
    const auto seen = one.inspect("job").value().value();
    EXPECT_TRUE(seen.mine());
    EXPECT_EQ(seen.waiters, 2U);
    expect_this_process(seen.queue[0].who);
    ASSERT_TRUE(seen.queue[0].since && seen.queue[1].since);
    EXPECT_LE(*seen.queue[0].since, *seen.queue[1].since);
    const auto place_of = [](client& who) {
        const auto line = who.inspect("job").value().value().queue;
        EXPECT_EQ(std::ranges::count(line, true, &waiter_info::mine), 1);
        return std::ranges::find(line, true, &waiter_info::mine) - line.begin();
    };
    const auto place_of_two = place_of(two);
    const auto place_of_three = place_of(three);
    if (one.can().fair) {
        EXPECT_EQ(place_of_two, 0);
        EXPECT_EQ(place_of_three, 1);
    }
    EXPECT_TRUE(std::move(held).release());
    EXPECT_TRUE(second.get());
    EXPECT_TRUE(third.get());
}

TEST_P(introspection, a_holder_that_is_evicted_learns_it_with_the_reason_at_its_next_renewal) {
    const auto held = take(one);
    EXPECT_EQ(two.evict("job", "deploy of the 12th"), 1U);
    EXPECT_TRUE(held.held()) << "it has heard nothing yet; only its fence stops it";
    EXPECT_TRUE(is_free());
    bed->pass(ttl / 3 + 1ms);
    wait_for("the news", [&] { return held.lost().stop_requested(); });
    EXPECT_EQ(held.status(), lease_status::lost);
    EXPECT_EQ(held.reason(), loss_reason::evicted);
    EXPECT_EQ(held.loss_text(), "deploy of the 12th");
    EXPECT_EQ(one.statistics().lost, 1U);
    EXPECT_EQ(one.statistics().lost_by_reason.evicted, 1U);
}

TEST_P(introspection, evicting_hands_the_name_to_the_next_in_line_with_a_larger_fence) {
    auto held = take(one);
    auto next = wait_in_line(two);
    EXPECT_EQ(two.mutex("job").evict("it hangs"), 1U);
    auto got = next.get().value();
    EXPECT_GT(got.fence(), held.fence());
    const auto said = std::move(held).release();
    EXPECT_EQ(said.error(), errc::lease_lost);
    EXPECT_THAT(said.error().detail, HasSubstr("it hangs"));
    EXPECT_TRUE(got.held()) << "whoever lost it cannot disturb the next one";
    EXPECT_TRUE(std::move(got).release());
}

TEST_P(introspection, a_holder_that_listens_learns_of_its_eviction_without_a_renewal) {
    if (!one.can().eviction_pushes) GTEST_SKIP() << "allowed: it learns at its next renewal";
    auto first = take(two);
    auto waits = wait_in_line(one);
    EXPECT_TRUE(std::move(first).release());
    const auto held = waits.get().value();  // by waiting it has come to listen
    EXPECT_EQ(two.evict("job", "make room"), 1U);
    wait_for("the news", [&] { return held.lost().stop_requested(); });
    EXPECT_EQ(held.reason(), loss_reason::evicted);
    EXPECT_EQ(held.loss_text(), "make room");
}

TEST_P(introspection, evicting_from_nobody_does_nothing_and_bad_reasons_are_refused) {
    EXPECT_EQ(one.evict("job", "just in case"), 0U);
    const auto held = take(one);
    for (const std::string& reason :
         {std::string(), std::string(201, 'x'), std::string("two\nlines"), std::string("\xff")}) {
        EXPECT_EQ(two.evict("job", reason).error(), errc::invalid_argument);
    }
    EXPECT_EQ(two.evict("", "why").error(), errc::invalid_argument);
    EXPECT_FALSE(is_free());
    EXPECT_EQ(two.evict("job", std::string(200, 'x')), 1U);
    EXPECT_TRUE(is_free());
}

TEST_P(introspection, whoever_looks_is_told_from_whom_a_name_was_taken_and_why) {
    EXPECT_TRUE(one.evictions("job").value().empty());
    const auto held = take(one);
    EXPECT_TRUE(two.evictions("job").value().empty());
    const std::string holder = two.inspect("job").value().value().holders.at(0).client;
    EXPECT_EQ(two.evict("job", "it hangs"), 1U);
    const auto told = two.evictions("job").value();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].client, holder);
    EXPECT_EQ(told[0].reason, "it hangs");
    EXPECT_FALSE(two.inspect("job").value()) << "it is free all the same";
    EXPECT_EQ(two.evictions("").error(), errc::invalid_argument);
}

TEST_P(introspection, an_observer_hears_why_a_lease_was_broken) {
    std::mutex guard;
    std::vector<lost_event> heard;
    auto watched = bed->make_client({.observer = {.lost = [&](const lost_event& e) {
                                         const std::scoped_lock held(guard);
                                         heard.push_back(e);
                                     }}});
    const auto quiet = take(watched, "a");
    auto released = take(watched, "b");
    EXPECT_EQ(two.evict("a", "first"), 1U);
    EXPECT_EQ(two.evict("b", "second"), 1U);
    EXPECT_EQ(std::move(released).release().error(), errc::lease_lost);
    bed->pass(ttl / 3 + 1ms);
    wait_for("both", [&] {
        const std::scoped_lock held(guard);
        return heard.size() == 2;
    });
    EXPECT_EQ(heard[0].text, "second");
    EXPECT_EQ(heard[1].text, "first");
    EXPECT_EQ(heard[1].reason, loss_reason::evicted);
}

HOLDFAST_ON_EVERY_ENGINE(introspection);

TEST_P(lease_seam, tells_an_evicted_owner_why_and_only_that_one) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    ASSERT_EQ(two.store().evict(job, "a must go", bed->time().now() + 5s), 1U);
    ASSERT_TRUE(granted(one.acquire(job, b)));
    ASSERT_EQ(two.store().evict(job, "b too", bed->time().now() + 5s), 1U);
    const auto why = [&](const lease_request& request) {
        return std::get<answer::lost>(one.send(request).value()).reason;
    };
    EXPECT_EQ(why(ask::renew{job, a, {}, ttl}), "a must go");
    EXPECT_EQ(why(ask::release{job, b, {}}), "b too");
    EXPECT_EQ(why(ask::renew{job, c, {}, ttl}), "");
    EXPECT_TRUE(granted(one.acquire(job, c))) << "what is kept for them holds up nobody";
}

}  // namespace
}  // namespace holdfast::test
