// SPDX-License-Identifier: Apache-2.0
//
// Names that cannot be found, that are found too late, and that stand for several addresses.
//
// This program has a getaddrinfo() of its own, which answers for names that end with ".test": so
// nothing is asked of a network, and a slow resolver is slow for exactly as long as a test wants.
#include <holdfast/redis/redis.hpp>

#include "support/redis_server.hpp"
#include "support/wait_for.hpp"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <atomic>
#include <cstring>
#include <string_view>

namespace {

std::atomic<bool> resolver_hangs{false};
std::atomic<int> lookups_waiting{0};

using lookup = int (*)(const char*, const char*, const addrinfo*, addrinfo**);

lookup systems_own() {
    return reinterpret_cast<lookup>(::dlsym(RTLD_NEXT, "getaddrinfo"));
}

int two_addresses(const char* port, const addrinfo* hints, addrinfo** found) {
    addrinfo* nobody_there = nullptr;
    const int status = systems_own()("127.0.0.2", port, hints, &nobody_there);
    if (status != 0) return status;
    *found = nobody_there;
    return systems_own()("127.0.0.1", port, hints, &nobody_there->ai_next);
}

}  // namespace

extern "C" int getaddrinfo(const char* host, const char* port, const addrinfo* hints,
                           addrinfo** found) {
    const std::string_view name = host == nullptr ? "" : host;
    const bool numeric = hints != nullptr && (hints->ai_flags & AI_NUMERICHOST) != 0;
    if (numeric || !name.ends_with(".test")) return systems_own()(host, port, hints, found);
    if (name == "two.test") return two_addresses(port, hints, found);
    if (name == "slow.test") {
        ++lookups_waiting;
        resolver_hangs.wait(true);
        --lookups_waiting;
        return EAI_AGAIN;
    }
    return EAI_NONAME;
}

namespace holdfast {
namespace {

using namespace std::chrono_literals;

time_point in(duration d) {
    return system_clock().now() + d;
}

TEST(redis_resolve, a_name_that_nobody_knows_is_unavailable_and_the_error_says_so) {
    auto engine = open_redis("redis://nobody.test").value();
    const auto r = engine->execute(words("PING"), in(5s));
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error(), errc::unavailable);
    for (const auto* part : {"nobody.test:6379", "resolve", "not known"}) {
        EXPECT_NE(r.error().detail.find(part), std::string::npos) << r.error().detail;
    }
}

TEST(redis_resolve, a_resolver_that_does_not_answer_is_left_after_the_connect_timeout) {
    resolver_hangs = true;
    auto engine = open_redis("redis://slow.test?connect_timeout=100ms").value();
    const time_point start = system_clock().now();
    const auto r = engine->execute(words("PING"), in(60s));
    const duration taken = system_clock().now() - start;
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error(), errc::unavailable);
    EXPECT_NE(r.error().detail.find("resolve"), std::string::npos) << r.error().detail;
    EXPECT_GE(taken, 100ms);
    EXPECT_LT(taken, 30s) << "by the connect timeout, not by the caller's patience";
    // Closing does not wait for the resolver either.
    engine.reset();
    EXPECT_EQ(lookups_waiting, 1) << "it hangs still, else this shows nothing";
    resolver_hangs = false;
    resolver_hangs.notify_all();
    test::wait_for("the lookup's end", [] { return lookups_waiting == 0; });
}

TEST(redis_resolve, a_callers_deadline_counts_while_a_name_is_looked_up) {
    resolver_hangs = true;
    auto engine = open_redis("redis://slow.test?connect_timeout=60s").value();
    const auto r = engine->execute(words("PING"), in(100ms));
    EXPECT_EQ(r.error(), errc::timed_out) << to_string(r.error());
    resolver_hangs = false;
    resolver_hangs.notify_all();
    test::wait_for("the lookup's end", [] { return lookups_waiting == 0; });
}

TEST(redis_resolve, lookups_that_hang_are_bounded) {
    resolver_hangs = true;
    std::vector<std::unique_ptr<redis_engine>> engines;
    result<reply> last = reply();
    for (int i = 0; i < 17; ++i) {
        engines.push_back(open_redis("redis://slow.test?connect_timeout=20ms").value());
        last = engines.back()->execute(words("PING"), in(10s));
        ASSERT_FALSE(last);
    }
    EXPECT_NE(last.error().detail.find("too many lookups"), std::string::npos)
        << last.error().detail;
    EXPECT_EQ(lookups_waiting, 16);
    resolver_hangs = false;
    resolver_hangs.notify_all();
    test::wait_for("the end of all lookups", [] { return lookups_waiting == 0; });
}

TEST(redis_resolve, the_second_address_of_a_name_is_tried_when_nobody_is_at_the_first) {
    test::redis_server server;
    auto engine = open_redis("redis://two.test:" + std::to_string(server.port())).value();
    const auto r = engine->execute(words("PING"), in(5s));
    ASSERT_TRUE(r) << to_string(r.error());
    EXPECT_EQ(*r, reply::status("PONG"));
}

}  // namespace
}  // namespace holdfast
