// SPDX-License-Identifier: Apache-2.0
//
// What leases promise on Redis in particular: fences that survive lost data, other programs' locks
// on the same key, a server in trouble, messages that are lost.
#include "support/child_process.hpp"
#include "support/redis_sentinel_group.hpp"
#include "support/redis_server.hpp"
#include "support/wait_for.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

class redis_lease : public testing::Test {
protected:
    client connect() { return open(server.url()).value(); }
    static acquire_options brief(duration wait = 0s) { return {.ttl = 2s, .wait = wait}; }

    test::redis_server server;
    client one = connect();
    client two = connect();
};

TEST_F(redis_lease,
       the_key_is_the_plain_name_and_holds_the_owner_and_after_a_renewal_the_fence_and_since_when) {
    const auto held = one.mutex("orders/42").acquire(brief()).value();
    const auto value = [&] { return server.raw("GET", "lock:orders/42").text(); };
    ASSERT_EQ(value().size(), 36U);
    EXPECT_EQ(value().substr(32), ":hf:");
    test::wait_for("a renewal", [&] { return one.statistics().renewed > 0; });
    const std::string rest = value().substr(36);
    EXPECT_EQ(rest.substr(0, rest.find('@')), to_string(held.fence()));
    EXPECT_EQ(rest.size(), to_string(held.fence()).size() + 14) << "and 13 digits of ms";
    EXPECT_GT(server.raw("PTTL", "lock:orders/42").number(), 0);
    EXPECT_GT(server.raw("PTTL", "holdfast:fence").number(), 0) << "nothing stays for ever";
}

TEST_F(redis_lease, the_prefix_is_configurable_and_may_be_empty) {
    auto app = open(server.url() + "?prefix=app:").value();
    auto bare = open(server.url() + "?prefix=").value();
    const auto a = app.mutex("n").acquire(brief()).value();
    const auto b = bare.mutex("n").acquire(brief()).value();
    EXPECT_EQ(server.raw("EXISTS", "app:n", "n"), reply::integer(2));
    EXPECT_EQ(bare.list("n")->size(), 1U);
}

TEST_F(redis_lease, fences_grow_although_the_server_forgot_everything) {
    auto held = one.mutex("job").acquire(brief()).value();
    const auto before = held.fence();
    ASSERT_TRUE(std::move(held).release());
    server.raw("FLUSHALL");
    auto after_flush = two.mutex("job").acquire(brief()).value();
    EXPECT_GT(after_flush.fence(), before);
    const auto flushed = after_flush.fence();
    ASSERT_TRUE(std::move(after_flush).release());
    server.restart();
    test::wait_for("the server to be found again",
                   [&] { return one.mutex("probe").try_acquire(brief()).has_value(); });
    EXPECT_GT(one.mutex("job").acquire(brief(5s)).value().fence(), flushed);
}

TEST_F(redis_lease, fences_grow_although_a_server_came_back_with_an_old_counter) {
    const auto held = one.mutex("job").acquire(brief()).value();
    // What a promoted replica that lagged behind looks like: an older number, new connections.
    server.raw("SET", "holdfast:fence", to_string(fencing_token{held.fence().value - 5}));
    server.raw("DEL", "lock:job");
    auto late = connect();
    EXPECT_GT(late.mutex("job").acquire(brief(5s)).value().fence(), held.fence());
}

TEST_F(redis_lease, fences_grow_although_the_counter_could_not_be_raised_for_want_of_memory) {
    auto held = one.mutex("job").acquire(brief()).value();
    const auto before = held.fence();
    ASSERT_TRUE(std::move(held).release());
    // An old counter, as an old snapshot has it, on a server without memory at the connect.
    server.raw("SET", "holdfast:fence", to_string(fencing_token{before.value - 1'000'000'000}));
    server.raw("CONFIG", "SET", "maxmemory", "1");
    auto late = connect();
    EXPECT_EQ(late.mutex("job").try_acquire(brief()).error(), errc::unavailable);
    EXPECT_GT(std::stoull(server.raw("GET", "holdfast:fence").text()), before.value);
    server.raw("CONFIG", "SET", "maxmemory", "0");
    EXPECT_GT(late.mutex("job").acquire(brief(5s)).value().fence(), before);
}

TEST_F(redis_lease, names_that_look_like_keys_of_ours_do_no_harm) {
    auto held = one.mutex("a{b}c").acquire(brief()).value();
    auto waiter = std::async(std::launch::async,
                             [&] { return two.mutex("a{b}c").acquire(brief(10s)).has_value(); });
    test::wait_for("a waiter", [&] { return one.list("a{b}c")->at(0).waiters == 1; });
    EXPECT_TRUE(one.mutex("a{b}c:line").try_acquire(brief()));
    EXPECT_TRUE(std::move(held).release());
    EXPECT_TRUE(waiter.get());
    auto bare = open(server.url() + "?prefix=").value();
    server.raw("SET", "{a}:waiters:0123456789abcdef0123456789abcdef", "2000 0 x1/1 somewhere");
    const auto listed = bare.list("").value();
    for (const auto& seen : listed) EXPECT_FALSE(seen.name.contains(":waiters")) << seen.name;
    for (const auto* name : {"holdfast:fence", "{1}holdfast:boot", "{a}:line",
                             "{a}:waiters:0123456789abcdef0123456789abcdef"}) {
        EXPECT_EQ(bare.mutex(name).try_acquire(brief()).error(), errc::invalid_argument) << name;
    }
}

TEST_F(redis_lease, a_lock_of_another_program_on_the_same_key_excludes_us_and_ours_it) {
    ASSERT_EQ(server.raw("SET", "lock:job", "somebody", "NX", "PX", 600), reply::status("OK"));
    EXPECT_EQ(one.mutex("job").try_acquire(brief()).error(), errc::busy);
    auto held = one.mutex("job").acquire(brief(5s)).value();  // by looking when its time is over
    EXPECT_TRUE(server.raw("SET", "lock:job", "somebody", "NX", "PX", 600).is_nil());
    EXPECT_TRUE(std::move(held).release());
    EXPECT_EQ(server.raw("SET", "lock:job", "somebody", "NX", "PX", 600), reply::status("OK"));
}

TEST_F(redis_lease, a_lock_of_another_program_that_is_deleted_is_noticed_within_about_a_second) {
    server.raw("SET", "lock:job", "somebody");  // without a ttl, as some do
    auto waiter = std::async(std::launch::async,
                             [&] { return one.mutex("job").acquire(brief(10s)).has_value(); });
    test::wait_for("a waiter", [&] { return one.statistics().waiting == 1; });
    server.raw("DEL", "lock:job");
    EXPECT_TRUE(waiter.get());
}

TEST_F(redis_lease, redis_pys_lock_and_ours_exclude_each_other) {
    const auto python = [&](std::string_view code) {
        // Debian's interpreter, which has Debian's python3-redis.
        test::child_process process(
            {.argv = {"/usr/bin/python3", "-c",
                      "import redis; r = redis.Redis(port=" + std::to_string(server.port()) +
                          "); " + std::string(code)}});
        return process.wait(20s);
    };
    auto held = one.mutex("job").acquire(brief()).value();
    EXPECT_EQ(python("assert not r.lock('lock:job', timeout=5).acquire(blocking=False)"), 0);
    ASSERT_TRUE(std::move(held).release());
    EXPECT_EQ(python("assert r.lock('lock:job', timeout=1).acquire(blocking=False)"), 0);
    EXPECT_EQ(one.mutex("job").try_acquire(brief()).error(), errc::busy);
    EXPECT_TRUE(one.mutex("job").acquire(brief(5s)));
}

TEST_F(redis_lease, waiting_for_another_programs_lock_does_not_touch_it) {
    const std::string token = "0123456789abcdef0123456789abcdef";  // as redis-py's look
    const std::vector<std::string> theirs{token,
                                          token + ":",
                                          token + ":17",
                                          token + ":17+",
                                          token + ":1763242522000001@1763242522000",
                                          token + ":s1:",
                                          token + ":p1/5:17",
                                          ":s3:1763242522000",
                                          "+"};
    for (const std::string& value : theirs) {
        server.raw("SET", "lock:job", value, "PX", 60000);
        EXPECT_EQ(one.mutex("job").acquire(brief(20ms)).error(), errc::timed_out) << value;
        EXPECT_EQ(two.shared_mutex("job").try_acquire_shared(brief()).error(), errc::busy) << value;
        EXPECT_EQ(server.raw("GET", "lock:job").text(), value);
        EXPECT_GT(server.raw("PTTL", "lock:job").number(), 50000) << value;
        EXPECT_EQ(one.inspect("job")->value().holders.at(0).client, "") << value;
        EXPECT_EQ(one.list("job")->at(0).holders.at(0).client, "") << value;
    }
}

TEST_F(redis_lease, an_uncontended_pair_is_three_commands_in_two_trips) {
    auto warm = one.mutex("job").acquire(brief()).value();
    ASSERT_TRUE(std::move(warm).release());
    server.raw("CONFIG", "RESETSTAT");
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(one.mutex("job").acquire(brief()).value().release());
    }
    const std::string seen = server.raw("INFO", "commandstats").text();
    for (const auto* expected : {"cmdstat_set:calls=10,", "cmdstat_incrby:calls=10,",
                                 "cmdstat_evalsha:calls=10,", "cmdstat_get:calls=10,"}) {
        EXPECT_NE(seen.find(expected), std::string::npos) << expected << " in " << seen;
    }
}

TEST_F(redis_lease, several_names_are_released_by_one_script) {
    std::vector<std::string> names;
    for (int i = 0; i < 300; ++i) names.push_back("shelf/" + std::to_string(i));
    const std::vector<std::string_view> all(names.begin(), names.end());
    auto warm = one.acquire_all(all, brief()).value();
    ASSERT_TRUE(std::move(warm).release());
    server.raw("CONFIG", "RESETSTAT");
    auto held = one.acquire_all(all, brief()).value();
    ASSERT_TRUE(std::move(held).release());
    const std::string seen = server.raw("INFO", "commandstats").text();
    // 300 are more than one script takes at once.
    for (const auto* expected : {"cmdstat_set:calls=300,", "cmdstat_incrby:calls=1,",
                                 "cmdstat_evalsha:calls=3,", "cmdstat_del:calls=3,"}) {
        EXPECT_NE(seen.find(expected), std::string::npos) << expected << " in " << seen;
    }
    EXPECT_TRUE(two.list("shelf/")->empty());
}

TEST_F(redis_lease, of_several_names_that_are_released_each_has_an_outcome_of_its_own) {
    auto held = one.acquire_all({"gone", "kept", "taken", "waited"}, {.ttl = 20s}).value();
    server.raw("DEL", "lock:gone");
    server.raw("SET", "lock:taken", "another program's");
    auto waiter = std::async(std::launch::async,
                             [&] { return two.mutex("waited").acquire(brief(10s)).has_value(); });
    test::wait_for("a waiter", [&] { return one.list("waited")->at(0).waiters == 1; });
    const auto said = std::move(held).release();
    ASSERT_FALSE(said);
    EXPECT_EQ(said.error(), errc::lease_lost);
    EXPECT_NE(said.error().detail.find("'gone'"), std::string::npos) << said.error().detail;
    EXPECT_TRUE(waiter.get());
    EXPECT_EQ(two.statistics().handed_off, 1U) << "it was told, and did not have to look";
    EXPECT_EQ(server.raw("EXISTS", "lock:kept"), reply::integer(0));
    EXPECT_EQ(server.raw("GET", "lock:taken").text(), "another program's");
}

// Whoever may not use MGET had the permissions that were asked for before there was a script for
// several.
TEST_F(redis_lease, several_names_are_released_one_by_one_where_one_script_is_denied) {
    server.raw("ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all", "-mget");
    auto app = open("redis://app:secret@127.0.0.1:" + std::to_string(server.port())).value();
    auto held = app.acquire_all({"a", "b", "c"}, brief()).value();
    ASSERT_TRUE(std::move(held).release());
    EXPECT_EQ(server.raw("EXISTS", "lock:a", "lock:b", "lock:c"), reply::integer(0));
}

TEST_F(redis_lease, who_holds_is_written_down_when_it_renews_and_expires) {
    const auto held = one.mutex("job").acquire(brief()).value();
    EXPECT_TRUE(server.raw("KEYS", "holdfast:client:*").elements().empty())
        << "the fast path costs no command more";
    test::wait_for("the label",
                   [&] { return server.raw("KEYS", "holdfast:client:*").elements().size() == 1; });
    const std::string key = server.raw("KEYS", "holdfast:client:*").elements()[0].text();
    EXPECT_EQ(key, "holdfast:client:" + server.raw("GET", "lock:job").text().substr(0, 12));
    EXPECT_TRUE(server.raw("GET", key).text().starts_with(std::to_string(::getpid()) + " "));
    EXPECT_GT(server.raw("PTTL", key).number(), 60'000);
    server.raw("CONFIG", "RESETSTAT");
    const auto renewed = one.statistics().renewed;
    test::wait_for("more renewals", [&] { return one.statistics().renewed > renewed + 1; });
    EXPECT_EQ(server.raw("INFO", "commandstats").text().find("cmdstat_set:"), std::string::npos)
        << "once is enough for minutes";
}

TEST_F(redis_lease, a_lock_of_another_program_is_listed_and_can_be_taken_away) {
    server.raw("SET", "lock:job", "0123456789abcdef0123456789abcdef");  // for ever
    const auto seen = one.inspect("job").value().value();
    EXPECT_TRUE(seen.held());
    EXPECT_EQ(seen.holders[0].who, client_label{});
    EXPECT_EQ(seen.remaining, std::nullopt);
    auto waiter = std::async(std::launch::async,
                             [&] { return two.mutex("job").acquire(brief(10s)).has_value(); });
    test::wait_for("a waiter", [&] { return one.inspect("job").value().value().waiters == 1; });
    EXPECT_EQ(one.evict("job", "its program is gone"), 1U);
    EXPECT_TRUE(waiter.get());
    EXPECT_EQ(server.raw("EXISTS", "{lock:job}:evicted"), reply::integer(0))
        << "it could not read why";
}

TEST_F(redis_lease, what_is_kept_for_the_evicted_expires) {
    const auto held = one.mutex("job").acquire(brief()).value();
    EXPECT_EQ(two.evict("job", "why not"), 1U);
    EXPECT_GT(server.raw("PTTL", "{lock:job}:evicted").number(), 60'000);
    EXPECT_LT(server.raw("PTTL", "{lock:job}:evicted").number(), 63'000);
}

TEST_F(redis_lease, a_server_out_of_memory_still_lets_a_holder_be_evicted) {
    const auto held = one.mutex("job").acquire(brief()).value();
    server.raw("CONFIG", "SET", "maxmemory", "1");
    EXPECT_EQ(two.evict("job", "why not"), 1U);
    EXPECT_EQ(server.raw("EXISTS", "lock:job"), reply::integer(0));
    server.raw("CONFIG", "SET", "maxmemory", "0");
}

TEST_F(redis_lease, while_somebody_waits_a_plain_set_nx_cannot_overtake_the_line) {
    auto held = one.mutex("job").acquire({.ttl = 500ms, .wait = 0s, .max_hold = 500ms}).value();
    auto waiter = std::async(std::launch::async, [&] {
        return two.mutex("job").acquire({.ttl = 30s, .wait = 20s}).value().fence();
    });
    test::wait_for("a place in line", [&] { return one.list("job")->at(0).waiters == 1; });
    auto stranger = server.connect();
    while (waiter.wait_for(0s) != std::future_status::ready) {
        ASSERT_TRUE(stranger.ask("SET", "lock:job", "stranger", "NX", "PX", 30000).is_nil());
    }
    EXPECT_GT(waiter.get(), held.fence());
}

TEST_F(redis_lease, a_value_of_another_kind_is_corrupt_and_stays_untouched) {
    server.raw("RPUSH", "lock:job", "a", "b");
    for (const duration wait : {duration(0s), duration(2s)}) {
        const auto got = one.mutex("job").acquire(brief(wait));
        ASSERT_FALSE(got);
        EXPECT_EQ(got.error(), errc::corrupt) << to_string(got.error());
    }
    EXPECT_EQ(server.raw("LLEN", "lock:job"), reply::integer(2));
}

TEST_F(redis_lease, a_server_without_memory_refuses_grants_but_still_renews_and_releases) {
    auto held = one.mutex("job").acquire(brief()).value();
    server.raw("CONFIG", "SET", "maxmemory", "1");
    const auto refused = two.mutex("other").try_acquire(brief());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), errc::unavailable) << "not busy: " << to_string(refused.error());
    test::wait_for("a renewal", [&] { return one.statistics().renewed >= 2; });
    EXPECT_TRUE(held.held());
    EXPECT_TRUE(std::move(held).release());
    EXPECT_EQ(server.raw("EXISTS", "lock:job"), reply::integer(0));
}

TEST_F(redis_lease, a_server_that_forgot_the_scripts_costs_nothing) {
    auto held = one.mutex("job").acquire(brief()).value();
    server.raw("SCRIPT", "FLUSH");
    EXPECT_EQ(two.mutex("job").try_acquire(brief()).error(), errc::busy);
    server.raw("SCRIPT", "FLUSH");
    EXPECT_TRUE(std::move(held).release());
}

TEST_F(redis_lease, a_waiter_whose_messages_are_lost_gets_it_within_about_a_second) {
    auto held = one.mutex("job").acquire({.ttl = 30s, .wait = 0s}).value();
    auto waiter = std::async(std::launch::async, [&] {
        return two.mutex("job").acquire({.ttl = 30s, .wait = 20s}).has_value();
    });
    test::wait_for("a place in line", [&] { return one.list("job")->at(0).waiters == 1; });
    server.raw("CLIENT", "KILL", "TYPE", "pubsub");
    ASSERT_TRUE(std::move(held).release());
    EXPECT_EQ(waiter.wait_for(5s), std::future_status::ready) << "not the rest of the ttl";
    EXPECT_TRUE(waiter.get());
}

/// The machine's own time, on a machine whose time of day is wrong.
class wrong_clock final : public clock {
public:
    [[nodiscard]] time_point now() const noexcept override { return system_clock().now(); }
    [[nodiscard]] wall_time wall() const noexcept override {
        return system_clock().wall() - std::chrono::minutes(10);
    }
    void wait_until(std::unique_lock<std::mutex>& held, std::condition_variable& cv,
                    time_point when) override {
        system_clock().wait_until(held, cv, when);
    }
};

TEST_F(redis_lease, a_clock_too_far_from_the_servers_is_refused_if_that_is_asked_for) {
    wrong_clock time;
    const auto refused = open(server.url(), {.max_clock_offset = 2s, .time = &time});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), errc::unavailable);
    EXPECT_NE(refused.error().detail.find("600.0 s ahead"), std::string::npos)
        << refused.error().detail;
    EXPECT_TRUE(open(server.url(), {.max_clock_offset = 11min, .time = &time}));
    EXPECT_TRUE(open(server.url(), {.max_clock_offset = 2s}));
    auto works = open(server.url(), {.time = &time}).value();
    EXPECT_TRUE(works.mutex("job").acquire(brief(5s))) << "no decision rests on the time of day";
    server.kill();
    EXPECT_FALSE(open(server.url(), {.max_clock_offset = 2s}));
    EXPECT_EQ(open(server.url(), {.max_clock_offset = -2s}).error(), errc::invalid_argument);
}

// The user of docs/guide/redis.md, as it stands there.
std::vector<std::string> documented_user() {
    std::ifstream page(HOLDFAST_REDIS_GUIDE);
    std::vector<std::string> words;
    for (std::string line; std::getline(page, line);) {
        if (words.empty() && !line.starts_with("ACL SETUSER")) continue;
        if (line == "```") break;
        std::istringstream parts(line);
        for (std::string word; parts >> word;) words.push_back(word);
    }
    return words;
}

TEST_F(redis_lease, the_documented_permissions_are_enough) {
    const auto user = documented_user();
    ASSERT_FALSE(user.empty());
    const std::vector<std::string_view> words(user.begin(), user.end());
    ASSERT_EQ(server.raw_words(words), reply::status("OK"));
    const std::string url = "redis://app:secret@127.0.0.1:" + std::to_string(server.port());
    auto a = open(url).value();
    auto b = open(url).value();
    auto held = a.mutex("job").acquire({.ttl = 600ms, .wait = 5s}).value();
    auto next = std::async(std::launch::async, [&] {
        return b.mutex("job").acquire({.ttl = 2s, .wait = 10s}).has_value();
    });
    test::wait_for("a waiter", [&] { return a.list("job").value().at(0).waiters == 1; });
    test::wait_for("a renewal", [&] { return a.statistics().renewed > 0; });
    EXPECT_TRUE(std::move(held).release());
    EXPECT_TRUE(next.get());
    EXPECT_EQ(b.statistics().handed_off, 1U);
    EXPECT_TRUE(a.acquire_all({"x", "y"}, brief()).value().release());
    EXPECT_EQ(server.raw("ACL", "LOG"), reply::array({})) << "something was denied";
}

TEST_F(redis_lease, a_thousand_buyers_buy_exactly_what_is_there) {
    constexpr int stock = 100;
    server.raw("SET", "stock", stock);
    std::atomic<int> sold = 0;
    std::vector<std::thread> threads;
    for (int shop = 0; shop < 20; ++shop) {
        threads.emplace_back([&, shop] {
            auto& shops_client = shop % 2 == 0 ? one : two;
            auto connection = server.connect();
            for (int buyer = 0; buyer < 50; ++buyer) {
                auto held = shops_client.mutex("stock").acquire({.ttl = 10s}).value();
                const int left = std::stoi(connection.ask("GET", "stock").text());
                if (left > 0) {
                    EXPECT_EQ(connection.ask("SET", "stock", left - 1), reply::status("OK"));
                    ++sold;
                }
                EXPECT_TRUE(std::move(held).release());
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(sold, stock);
    EXPECT_EQ(server.raw("GET", "stock").text(), "0");
}

TEST(redis_sentinel_lease, survives_the_failover_of_its_engine_with_larger_fences_after_it) {
    test::redis_sentinel_group group;
    const std::string url =
        group.url() + "?reply_timeout=500ms&connect_timeout=500ms&quarantine=off";
    auto one = open(url).value();
    auto two = open(url).value();
    const acquire_options patient{.ttl = 20s, .wait = 15s};
    auto held = one.mutex("job").acquire(patient).value();
    const auto before = held.fence();
    group.master().raw("WAIT", 2, 2000);  // the case is the failover, not what it may lose
    group.failover();
    EXPECT_EQ(two.mutex("job").acquire({.ttl = 20s, .wait = 3s}).error(), errc::timed_out)
        << "the new master excludes others too";
    EXPECT_TRUE(held.held());
    EXPECT_TRUE(std::move(held).release());
    auto next = two.mutex("job").acquire(patient);
    ASSERT_TRUE(next) << to_string(next.error());
    EXPECT_GT(next->fence(), before);
}

}  // namespace
}  // namespace holdfast
