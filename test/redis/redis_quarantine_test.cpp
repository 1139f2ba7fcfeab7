// SPDX-License-Identifier: Apache-2.0
//
// From when on a quarantine counts: from the restart or the promotion, not from the first request
// in a slot. Once it is over, no name is refused, whoever asks and wherever it is.
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

// The first number behind `name` in what the server says.
int number_behind(const std::string& text, const std::string& name) {
    const auto at = text.find(name);
    return at == std::string::npos ? -1 : std::stoi(text.substr(at + name.size()));
}

void await_uptime(test::redis_server& server, int seconds) {
    test::wait_for("an uptime of so many seconds", [&] {
        return number_behind(server.raw("INFO", "server").text(), "uptime_in_seconds:") >= seconds;
    });
}

void await_replica_connected_for(test::redis_server& server, int seconds) {
    const auto age = [&] {
        return number_behind(server.raw("CLIENT", "LIST", "TYPE", "replica").text(), " age=");
    };
    test::wait_for(
        "a replica that has been connected for so long", [&] { return age() >= seconds; }, 20s);
}

enum class way : std::uint8_t { blocking, asynchronous };

result<void> try_once(client& by, const std::string& name, way how) {
    auto from = by.mutex(name);
    const acquire_options options{.ttl = 2s};
    if (how == way::blocking) {
        const auto held = from.try_acquire(options);
        if (!held) return std::unexpected(held.error());
        return {};
    }
    std::promise<result<void>> told;
    from.acquire_async(options, [&](result<lease> held) {
        told.set_value(held ? result<void>() : std::unexpected(held.error()));
    });
    return told.get_future().get();
}

// Names that nobody has touched, all over the slots: how many are refused.
int refused_of_many(client& by, const std::string& prefix, way how = way::blocking) {
    int refused = 0;
    for (int i = 0; i < 200; ++i) {
        const auto got = try_once(by, prefix + std::to_string(i), how);
        if (got) continue;
        EXPECT_EQ(got.error(), errc::unavailable) << to_string(got.error());
        ++refused;
    }
    return refused;
}

TEST(quarantine_time, a_server_that_was_restarted_longer_ago_grants_at_once) {
    test::redis_server server({.arguments = {"--appendonly", "yes", "--appendfsync", "always"}});
    await_uptime(server, 4);
    auto before = connect(server.url(), "&quarantine=2s");
    ASSERT_TRUE(before.mutex("job").try_acquire({.ttl = 1s}))
        << "its note is in the file from here";
    server.restart();
    auto soon = connect(server.url(), "&quarantine=2s");
    EXPECT_EQ(soon.mutex("other").try_acquire({.ttl = 1s}).error(), errc::unavailable);
    server.restart();
    await_uptime(server, 4);
    auto after = connect(server.url(), "&quarantine=2s");
    const auto got = after.mutex("job").try_acquire({.ttl = 1s});
    EXPECT_TRUE(got) << to_string(got.error());
}

class quarantine_time_in_a_cluster : public testing::Test {
protected:
    static constexpr std::string_view options = "&quarantine=2s";
    static constexpr std::uint16_t last_slot = 16383;  // whose server is promoted

    test::redis_server& replica_of(std::uint16_t master) {
        for (auto& node : group.nodes()) {
            const auto role = node->raw("ROLE");
            if (role.elements()[0].text() == "slave" && role.elements()[2].number() == master) {
                return *node;
            }
        }
        throw std::runtime_error("no replica");
    }
    // The successor has no replicas: the old master is dead.
    void kill_and_promote() {
        auto& old = group.owner_of(last_slot);
        auto& next = replica_of(old.port());
        old.kill();
        ASSERT_EQ(next.raw("CLUSTER", "FAILOVER", "TAKEOVER"), reply::status("OK"));
        await_owner(next);
    }
    void await_owner(test::redis_server& next) {
        for (auto& node : group.nodes()) {
            if (!node->running()) continue;
            test::wait_for("all to know the new master", [&] {
                const auto slots = node->raw("CLUSTER", "SLOTS");
                for (const auto& range : slots.elements()) {
                    if (range.elements()[1].number() != last_slot) continue;
                    return range.elements()[2].elements()[1].number() == next.port();
                }
                return false;
            });
        }
    }
    // Some name whose slot the promoted server has.
    std::string name_there(const std::string& prefix) {
        const auto port = group.owner_of(last_slot).port();
        for (int i = 0;; ++i) {
            std::string name = prefix + std::to_string(i);
            if (group.owner_of(group.slot_of("lock:" + name)).port() == port) return name;
        }
    }

    test::redis_cluster_group group;
};

TEST_F(quarantine_time_in_a_cluster, who_saw_a_promotion_is_refused_by_no_slot_after_it) {
    for (auto& node : group.nodes()) await_uptime(*node, 4);
    auto one = connect(group.url(), options);
    EXPECT_EQ(refused_of_many(one, "before/"), 0);
    kill_and_promote();
    const std::string name = name_there("seen/");
    EXPECT_EQ(one.mutex(name).try_acquire({.ttl = 2s}).error(), errc::unavailable);
    EXPECT_TRUE(one.mutex(name).acquire({.ttl = 2s, .wait = 20s}));
    // Its own clock gives the server 1 % of the window more. A window that began in each slot
    // would take twice as long as this.
    int tries = 0;
    test::wait_for(
        "all names to be granted",
        [&] { return refused_of_many(one, "after" + std::to_string(++tries) + "/") == 0; }, 1s);
    EXPECT_EQ(refused_of_many(one, "and/", way::asynchronous), 0);
    // What one has seen, all know; also those that have just been started.
    auto fresh = connect(group.url(), options);
    EXPECT_EQ(refused_of_many(fresh, "fresh/"), 0);
    auto other = connect(group.url(), options);
    EXPECT_EQ(refused_of_many(other, "other/", way::asynchronous), 0);
}

TEST_F(quarantine_time_in_a_cluster, a_promotion_that_nobody_saw_is_over_by_the_replicas_word) {
    auto& old = group.owner_of(last_slot);
    auto& next = replica_of(old.port());
    // An election that a busy machine holds up is not repeated for a long time: without.
    ASSERT_EQ(next.raw("CLUSTER", "FAILOVER", "TAKEOVER"), reply::status("OK"));
    await_owner(next);
    auto soon = connect(group.url(), options);
    EXPECT_EQ(soon.mutex(name_there("soon/")).try_acquire({.ttl = 2s}).error(), errc::unavailable);
    await_replica_connected_for(next, 4);
    auto fresh = connect(group.url(), options);
    EXPECT_EQ(refused_of_many(fresh, "fresh/"), 0);
    auto confirmed = connect(group.url(), "&quarantine=2s&replicas=1");
    EXPECT_EQ(refused_of_many(confirmed, "confirmed/"), 0);
}

TEST(quarantine_time, a_failover_of_sentinel_that_nobody_saw_is_over_by_the_replicas_word) {
    test::redis_sentinel_group group;
    group.failover();
    await_replica_connected_for(group.master(), 4);
    auto fresh = connect(group.url(), "&quarantine=2s");
    const auto got = fresh.mutex("job").try_acquire({.ttl = 2s});
    EXPECT_TRUE(got) << to_string(got.error());
}

}  // namespace
}  // namespace holdfast
