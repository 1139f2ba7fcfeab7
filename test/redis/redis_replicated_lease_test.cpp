// SPDX-License-Identifier: Apache-2.0
//
// Leases where there is more than one server: what a failover may forget, what replicas confirm,
// and shards that do not suffer from each other.
#include "support/redis_cluster_group.hpp"
#include "support/redis_sentinel_group.hpp"
#include "support/wait_for.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <future>
#include <string>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view brisk = "?reply_timeout=500ms&connect_timeout=500ms";

client connect(const std::string& url, std::string_view options) {
    return open(url + std::string(brisk) + std::string(options)).value();
}

// A server that starts grants nothing at first either: it cannot know what it was before.
void await_first_grants(client& by) {
    EXPECT_TRUE(by.mutex("first").acquire({.ttl = 1s, .wait = 20s}));
}

TEST(quarantine, a_promoted_server_that_forgot_a_lease_grants_nothing_until_it_is_over) {
    test::redis_sentinel_group group;
    auto one = connect(group.url(), "&quarantine=3s");
    auto two = connect(group.url(), "&quarantine=3s");
    await_first_grants(two);
    const auto held = one.mutex("job").acquire({.ttl = 3s, .wait = 5s}).value();
    group.master().raw("WAIT", 2, 2000);
    group.failover();
    group.master().raw("DEL", "lock:job");  // as if it had not been replicated in time
    test::wait_for("the promoted master to say why it grants nothing", [&] {
        const auto got = two.mutex("job").try_acquire({.ttl = 1s});
        return !got && got.error() == errc::unavailable &&
               got.error().detail.find("promoted") != std::string::npos;
    });
    auto next = two.mutex("job").acquire({.ttl = 3s, .wait = 20s}).value();
    EXPECT_FALSE(held.held()) << "never two who believe";
    EXPECT_GT(next.fence(), held.fence());
    EXPECT_TRUE(std::move(next).release());
}

TEST(quarantine, leases_that_the_promoted_server_knows_are_kept_and_its_line_waits) {
    test::redis_sentinel_group group;
    auto one = connect(group.url(), "&quarantine=6s");
    auto two = connect(group.url(), "&quarantine=6s");
    await_first_grants(two);
    auto held = one.mutex("job").acquire({.ttl = 6s, .wait = 5s}).value();
    group.master().raw("WAIT", 2, 2000);
    group.failover();
    auto next = std::async(std::launch::async, [&] {
        return two.mutex("job").acquire({.ttl = 6s, .wait = 30s}).value().fence();
    });
    const auto renewed = one.statistics().renewed;
    test::wait_for("a renewal by the new master",
                   [&] { return one.statistics().renewed > renewed; });
    EXPECT_TRUE(held.held());
    const auto fence = held.fence();
    EXPECT_TRUE(std::move(held).release());
    EXPECT_GT(next.get(), fence);
}

// The marker is written by grants alone. B sees none, only renewals; A is master again, with the
// same run id as ever.
TEST(quarantine, a_master_that_was_demoted_and_promoted_again_is_another_one) {
    test::redis_server a;
    test::redis_server b({.replica_of = a.port()});
    auto client = connect(a.url(), "&quarantine=2s");
    await_first_grants(client);
    auto held = client.mutex("job").acquire({.ttl = 2s, .wait = 5s}).value();
    ASSERT_TRUE(std::move(held).release());
    EXPECT_EQ(a.raw("WAIT", 1, 5000), reply::integer(1));
    b.raw("REPLICAOF", "NO", "ONE");
    a.raw("REPLICAOF", "127.0.0.1", std::to_string(b.port()));
    test::wait_for("A to follow B", [&] {
        return a.raw("INFO", "replication").text().find("master_link_status:up") !=
               std::string::npos;
    });
    a.raw("REPLICAOF", "NO", "ONE");
    test::wait_for("the quarantine", [&] {
        const auto got = client.mutex("job").try_acquire({.ttl = 1s});
        return !got && got.error().detail.find("promoted") != std::string::npos;
    });
    EXPECT_TRUE(client.mutex("job").acquire({.ttl = 2s, .wait = 20s}));
}

TEST(quarantine, a_promoted_server_of_which_nothing_is_known_is_in_it) {
    test::redis_server a;
    test::redis_server b({.replica_of = a.port()});
    test::wait_for("B to follow A", [&] {
        return b.raw("INFO", "replication").text().find("master_link_status:up") !=
               std::string::npos;
    });
    test::wait_for("B to be older than the window", [&] {
        const std::string about = b.raw("INFO", "server").text();
        const std::string key = "uptime_in_seconds:";
        return std::stoi(about.substr(about.find(key) + key.size())) >= 2;
    });
    b.raw("REPLICAOF", "NO", "ONE");
    auto client = connect(b.url(), "&quarantine=1s");
    EXPECT_EQ(client.mutex("job").try_acquire({.ttl = 1s}).error(), errc::unavailable);
    EXPECT_TRUE(client.mutex("job").acquire({.ttl = 1s, .wait = 20s}));
}

TEST(quarantine, a_ttl_that_it_would_not_outlast_is_refused) {
    test::redis_server server;
    auto client = connect(server.url(), "&quarantine=2s");
    const auto got = client.mutex("job").try_acquire({.ttl = 3s});
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error(), errc::invalid_argument);
    EXPECT_NE(got.error().detail.find("quarantine="), std::string::npos) << got.error().detail;
}

TEST(quarantine, a_server_that_lost_everything_in_a_restart_is_in_it_too) {
    test::redis_server server;
    auto one = connect(server.url(), "&quarantine=2s");
    await_first_grants(one);
    const auto held = one.mutex("job").acquire({.ttl = 2s, .wait = 5s}).value();
    server.restart();
    auto two = connect(server.url(), "&quarantine=2s");
    EXPECT_TRUE(two.mutex("job").acquire({.ttl = 2s, .wait = 20s}));
    EXPECT_FALSE(held.held());
}

// Redis counts its uptime by whole seconds of the clock: one that was started just before a new
// second says soon after that it has run for one.
TEST(quarantine, is_as_long_as_it_says_whenever_in_a_second_the_server_was_started) {
    test::redis_server server;
    auto one = connect(server.url(), "&quarantine=2s");
    await_first_grants(one);
    for (const auto part : {300ms, 600ms, 900ms}) {
        const auto in_second = [] {
            return system_clock().wall().time_since_epoch() % std::chrono::nanoseconds(1s);
        };
        test::wait_for("that part of a second",
                       [&] { return in_second() >= part && in_second() < part + 80ms; });
        const time_point stopped = system_clock().now();
        server.restart();
        test::wait_for("its first second to be over, as it counts", [&] {
            return server.raw("INFO", "server").text().find("uptime_in_seconds:1\r") !=
                   std::string::npos;
        });
        auto two = connect(server.url(), "&quarantine=2s");
        EXPECT_TRUE(two.mutex("job").acquire({.ttl = 2s, .wait = 20s}));
        EXPECT_GE(system_clock().now() - stopped, 2s);
    }
}

class confirmed_lease : public testing::Test {
protected:
    static constexpr std::string_view options = "&quarantine=off&replicas=2&replica_wait=200ms";
    void pause_replicas() {
        const auto master = group.master_port();
        for (auto& server : group.servers()) {
            if (server->port() != master) server->pause();
        }
    }
    void resume_replicas() {
        for (auto& server : group.servers()) server->resume();
    }

    test::redis_sentinel_group group;
    client one = connect(group.url(), options);
    client two = connect(group.url(), options);
};

TEST_F(confirmed_lease, works_as_any_other_while_the_replicas_are_there) {
    auto held = one.mutex("job").acquire({.ttl = 3s, .wait = 5s}).value();
    auto next = std::async(std::launch::async, [&] {
        return two.mutex("job").acquire({.ttl = 3s, .wait = 20s}).value().fence();
    });
    test::wait_for("a waiter", [&] { return one.list("job")->at(0).waiters == 1; });
    test::wait_for("a renewal", [&] { return one.statistics().renewed > 0; });
    const auto fence = held.fence();
    EXPECT_TRUE(std::move(held).release());
    EXPECT_GT(next.get(), fence);
}

TEST_F(confirmed_lease, is_not_granted_and_not_kept_without_them) {
    const auto held = one.mutex("kept").acquire({.ttl = 2s, .wait = 5s}).value();
    pause_replicas();
    const auto got = two.mutex("job").try_acquire({.ttl = 5s});
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error(), errc::unavailable);
    EXPECT_NE(got.error().detail.find("0 of 2 replicas"), std::string::npos) << got.error().detail;
    EXPECT_EQ(group.master().raw("EXISTS", "lock:job"), reply::integer(0)) << "given back";
    test::wait_for("jeopardy", [&] { return held.status() == lease_status::jeopardy; });
    test::wait_for("the end of what no replica knows", [&] { return !held.held(); });
    resume_replicas();
    EXPECT_TRUE(two.mutex("job").acquire({.ttl = 3s, .wait = 20s}));
}

TEST_F(confirmed_lease, is_what_sentinel_has_unless_the_url_says_otherwise) {
    constexpr std::string_view brief = "&quarantine=off&replica_wait=200ms";
    auto usual = connect(group.url(), brief);
    EXPECT_TRUE(usual.mutex("job").try_acquire({.ttl = 2s}));
    pause_replicas();
    const auto got = usual.mutex("other").try_acquire({.ttl = 2s});
    ASSERT_FALSE(got);
    EXPECT_NE(got.error().detail.find("0 of 1 replicas"), std::string::npos) << got.error().detail;
    auto trusting = connect(group.url(), std::string(brief) + "&replicas=0");
    EXPECT_TRUE(trusting.mutex("other").try_acquire({.ttl = 2s}));
    resume_replicas();
}

class cluster_lease : public testing::Test {
protected:
    // Two names on different masters.
    std::pair<std::string, std::string> apart() {
        const auto owner = [&](const std::string& name) {
            return group.owner_of(group.slot_of("lock:" + name)).port();
        };
        std::string other = "b";
        while (owner(other) == owner("a")) other += "b";
        return {"a", other};
    }

    test::redis_cluster_group group;
    client one = connect(group.url(), "&quarantine=off");
    client two = connect(group.url(), "&quarantine=off");
};

TEST_F(cluster_lease, a_frozen_shard_loses_no_lease_on_a_healthy_one) {
    const auto [sick, healthy] = apart();
    auto& frozen = group.owner_of(group.slot_of("lock:" + sick));
    const auto on_sick = one.mutex(sick).acquire({.ttl = 2s, .wait = 5s}).value();
    const auto on_healthy = one.mutex(healthy).acquire({.ttl = 2s, .wait = 5s}).value();
    frozen.pause();
    test::wait_for("the loss on the frozen one", [&] { return !on_sick.held(); });
    EXPECT_EQ(on_sick.reason(), loss_reason::expired);
    const auto renewed = one.statistics().renewed;
    test::wait_for("more renewals on the healthy one",
                   [&] { return one.statistics().renewed >= renewed + 2; });
    EXPECT_TRUE(on_healthy.held());
    frozen.resume();
    EXPECT_TRUE(one.mutex(sick).acquire({.ttl = 2s, .wait = 20s}));
}

TEST_F(cluster_lease, a_lease_and_its_line_move_with_their_slot) {
    auto held = one.mutex("job").acquire({.ttl = 20s, .wait = 5s}).value();
    auto next = std::async(std::launch::async, [&] {
        return two.mutex("job").acquire({.ttl = 20s, .wait = 60s}).value().fence();
    });
    test::wait_for("a waiter", [&] { return one.list("job")->at(0).waiters == 1; });
    const auto slot = group.slot_of("lock:job");
    group.move_slot(slot, group.stranger_to(slot));
    const auto fence = held.fence();
    EXPECT_TRUE(std::move(held).release());
    EXPECT_GT(next.get(), fence);
}

TEST_F(cluster_lease, replicas_confirm_here_too) {
    auto sure = connect(group.url(), "&quarantine=off&replicas=1");
    const auto [a, b] = apart();
    for (const auto& name : {a, b}) {
        auto held = sure.mutex(name).acquire({.ttl = 1s, .wait = 5s}).value();
        const auto renewed = sure.statistics().renewed;
        test::wait_for("a renewal", [&] { return sure.statistics().renewed > renewed; });
        EXPECT_TRUE(std::move(held).release());
    }
    auto too_many = connect(group.url(), "&quarantine=off&replicas=2&replica_wait=50ms");
    const auto got = too_many.mutex(a).try_acquire({.ttl = 1s});
    ASSERT_FALSE(got);
    EXPECT_NE(got.error().detail.find("1 of 2 replicas"), std::string::npos) << got.error().detail;
}

TEST_F(cluster_lease, a_node_that_was_promoted_is_in_quarantine) {
    auto careful = connect(group.url(), "&quarantine=4s");
    auto first = careful.mutex("job").acquire({.ttl = 4s, .wait = 20s}).value();
    const auto fence = first.fence();
    ASSERT_TRUE(std::move(first).release());
    const auto slot = group.slot_of("lock:job");
    const auto old = group.owner_of(slot).port();
    for (auto& node : group.nodes()) {
        const auto role = node->raw("ROLE");
        if (role.elements()[0].text() == "slave" && role.elements()[2].number() == old) {
            // An election that a busy machine holds up is not repeated for a long time: without.
            ASSERT_EQ(node->raw("CLUSTER", "FAILOVER", "TAKEOVER"), reply::status("OK"));
        }
    }
    test::wait_for("the promotion", [&] { return group.owner_of(slot).port() != old; });
    const auto got = careful.mutex("job").try_acquire({.ttl = 4s});
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error(), errc::unavailable);
    EXPECT_NE(got.error().detail.find("promoted"), std::string::npos) << got.error().detail;
    EXPECT_GT(careful.mutex("job").acquire({.ttl = 4s, .wait = 20s}).value().fence(), fence);
}

}  // namespace
}  // namespace holdfast
