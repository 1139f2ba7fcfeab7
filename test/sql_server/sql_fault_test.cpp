// SPDX-License-Identifier: Apache-2.0
//
// A connection that is lost in the middle of whatever was asked, a server that is killed, stopped
// or started anew: what was granted stays granted, and the same request again gives the answer.

#include HOLDFAST_SQL_GROUND  // the server's: its program says which

#include "support/fault_proxy.hpp"

namespace holdfast::test {
namespace {

// A reply to one statement is some ten to some hundred bytes: cuts at all of its frames.
constexpr std::size_t longest_reply = 400;
constexpr std::size_t between_cuts = 23;

class sql_faults : public testing::Test {
protected:
    void check_kind(const result<lease_reply>& reply) {
        if (reply) return;
        EXPECT_TRUE(reply.error() == errc::outcome_unknown || reply.error() == errc::unavailable)
            << reply.error().detail;
    }

    fault_proxy proxy{shared_server().port()};
    sql_store through{options_at(proxy.port())};
    sql_store beside{options_at(shared_server().port())};
};

TEST_F(sql_faults, an_acquire_and_a_release_survive_a_cut_anywhere) {
    std::uint64_t last = 0;
    for (std::size_t cut = 0; cut < longest_reply; cut += between_cuts) {
        SCOPED_TRACE(cut);
        const lock_name job = name_of("cut anywhere");
        const owner_token a = new_owner();
        const ask::acquire take{job, a, {}, 30s, ask::when_busy::refuse, {}, 0};
        ASSERT_TRUE(through.again(ask::renew{name_of("warm"), a, {}, 30s}));

        proxy.cut_replies_after(cut);
        const auto first = through.send(take, 2s);
        check_kind(first);
        proxy.pass();
        const auto second = through.again(take);
        ASSERT_TRUE(is_granted(second));
        EXPECT_TRUE(!is_granted(first) || fence_of(first) == fence_of(second));
        EXPECT_GT(fence_of(second), last);
        last = fence_of(second);
        EXPECT_TRUE(is_busy(beside.acquire(job, new_owner())));

        proxy.cut_replies_after(cut);
        check_kind(through.send(ask::release{job, a, {}}, 2s));
        proxy.pass();
        ASSERT_TRUE(through.again(ask::release{job, a, {}}));
        const owner_token b = new_owner();
        const auto next = beside.acquire(job, b);
        ASSERT_TRUE(is_granted(next));
        EXPECT_GT(fence_of(next), last);
        last = fence_of(next);
        ASSERT_TRUE(beside.release(job, b));
    }
}

TEST_F(sql_faults, a_handoff_survives_a_cut_anywhere) {
    for (std::size_t cut = 0; cut < 2 * longest_reply; cut += 2 * between_cuts) {
        SCOPED_TRACE(cut);
        const lock_name job = name_of("handed over");
        const owner_token a = new_owner();
        const owner_token b = new_owner();
        ASSERT_TRUE(is_granted(
            through.again(ask::acquire{job, a, {}, 30s, ask::when_busy::refuse, {}, 0})));
        const auto waits = beside.acquire(job, b, ask::when_busy::join_queue);
        ASSERT_TRUE(is_busy(waits));

        proxy.cut_replies_after(cut);
        check_kind(through.send(ask::release{job, a, {}}, 2s));
        proxy.pass();
        ASSERT_TRUE(through.again(ask::release{job, a, {}}));
        const auto look = beside.send(ask::acquire{
            job, b, {}, 30s, ask::when_busy::join_queue, std::get<answer::busy>(*waits).ticket, 0});
        EXPECT_TRUE(is_granted(look));
        ASSERT_TRUE(beside.release(job, b));
    }
}

TEST_F(sql_faults, a_reply_that_never_comes_is_an_outcome_that_is_not_known) {
    const lock_name job = name_of("silent");
    const owner_token a = new_owner();
    const ask::acquire take{job, a, {}, 30s, ask::when_busy::refuse, {}, 0};
    // The statements are prepared by then, also the one for a name whose gate is there: one that
    // could not be prepared was surely not carried out.
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(is_granted(through.again(take)));
        ASSERT_TRUE(through.release(job, a));
    }
    proxy.drop_replies();
    const auto reply = through.send(take, 300ms);
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error(), errc::outcome_unknown) << reply.error().detail;
    proxy.pass();
    EXPECT_TRUE(is_granted(through.again(take)));
    EXPECT_TRUE(through.release(job, a));
}

TEST_F(sql_faults, a_waiter_whose_listening_connection_was_lost_still_gets_the_name) {
    auto one = client(make_store(options_at(proxy.port())), {});
    const lock_name job = name_of("ear");
    const owner_token a = new_owner();
    ASSERT_TRUE(is_granted(beside.acquire(job, a)));
    std::jthread waiter([&] {
        auto held = one.mutex("ear").acquire({.wait = 20s});
        EXPECT_TRUE(held) << held.error().detail;
    });
    wait_for("the waiter", [&] {
        const auto seen = beside->inspect(job, system_clock().now() + 5s);
        return seen && *seen && (**seen).waiters == 1;
    });
    proxy.reset();
    proxy.pass();
    ASSERT_TRUE(beside.release(job, a));
}

TEST(sql_restarts, what_was_granted_survives_a_crash_of_the_server) {
    sql_server server;
    sql_store one(options_at(server.port()));
    sql_store two(options_at(server.port()));
    const lock_name job = name_of("survivor");
    const owner_token a = new_owner();
    const auto held = one.acquire(job, a, ask::when_busy::refuse, 60s);
    ASSERT_TRUE(is_granted(held));
    server.kill();
    const auto gone = one.send(ask::renew{job, a, {}, 60s}, 1s);
    ASSERT_FALSE(gone);
    // Whether the request was sent before the connection broke is the kernel's to say.
    EXPECT_TRUE(gone.error() == errc::unavailable || gone.error() == errc::outcome_unknown)
        << gone.error().detail;
    server.restart();
    EXPECT_TRUE(is_busy(two.acquire(job, new_owner())));
    const auto again = one.send(ask::renew{job, a, {}, 60s});
    EXPECT_TRUE(again && std::holds_alternative<answer::renewed>(*again));
    EXPECT_TRUE(one.release(job, a));
}

TEST(sql_restarts, a_server_that_stands_still_is_given_up_in_time) {
    sql_server server;
    sql_store one(options_at(server.port()));
    const lock_name job = name_of("still");
    const owner_token a = new_owner();
    ASSERT_TRUE(is_granted(one.acquire(job, a)));
    ASSERT_TRUE(one.send(ask::renew{job, a, {}, 30s}));
    server.pause();
    const auto reply = one.send(ask::renew{job, a, {}, 30s}, 300ms);
    server.resume();
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error(), errc::outcome_unknown);
    EXPECT_TRUE(one.release(job, a));
}

}  // namespace
}  // namespace holdfast::test
