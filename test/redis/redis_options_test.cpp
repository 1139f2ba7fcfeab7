// SPDX-License-Identifier: Apache-2.0
//
// What URLs say, and that they never say it in public.
#include <holdfast/engine/url.hpp>
#include <holdfast/redis/redis.hpp>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST(url, is_split_and_decoded) {
    const url u = parse_url("Redis://us%3Aer:p%40ss@h1:1,[::1]:2,h3/a%20b?x=1&y=%26").value();
    EXPECT_EQ(u.scheme, "redis");
    EXPECT_EQ(u.user, "us:er");
    EXPECT_EQ(u.password, "p@ss");
    EXPECT_EQ(u.hosts, (std::vector<url_host>{{"h1", 1}, {"::1", 2}, {"h3", std::nullopt}}));
    EXPECT_EQ(u.path, "/a b");
    EXPECT_EQ(u.options,
              (std::vector<std::pair<std::string, std::string>>{{"x", "1"}, {"y", "&"}}));
}

TEST(url, may_have_no_authority) {
    EXPECT_TRUE(parse_url("memory:").value().hosts.empty());
    EXPECT_EQ(parse_url("sqlite:/var/lib/x.db?a=b").value().path, "/var/lib/x.db");
    EXPECT_EQ(parse_url("redis+unix:///run/s").value().path, "/run/s");
    EXPECT_EQ(parse_url("redis-sentinel://a,b:2,c/mymaster").value().hosts.size(), 3U);
}

TEST(url, that_is_wrong_is_refused_without_repeating_it) {
    for (const auto* text : {"",
                             "canary",
                             "redis//canary",
                             "redis://canary:99999",
                             "redis://canary:x",
                             "redis://u:canary/1@h",
                             "redis://u:12/canary@h?x",
                             "redis://[canary",
                             "redis://a,",
                             "redis://can%zzary",
                             "redis://h/?canary",
                             "redis://h/#canary",
                             "redis://u:canary@",
                             "redis://h?%=canary",
                             "1redis://canary",
                             "redis://a:1:canary",
                             "redis://h?=canary",
                             "redis://[::1]canary",
                             "redis://h%0acanary",
                             "redis://h/%00canary",
                             "redis://h?a=%7fcanary"}) {
        const auto parsed = parse_url(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_EQ(parsed.error(), errc::invalid_argument);
        EXPECT_EQ(to_string(parsed.error()).find("canary"), std::string::npos) << text;
        EXPECT_EQ(redacted(text).find("canary"), std::string::npos) << text;
    }
}

TEST(url, is_shown_without_its_secrets) {
    EXPECT_EQ(redacted("redis://app:canary@db1:6379/0?connections=2&password_file=canary"),
              "redis://app:***@db1:6379/0?connections=2&password_file=***");
    EXPECT_EQ(redacted("redis://[::1]:1"), "redis://[::1]:1");
    EXPECT_EQ(redacted("memory:"), "memory:");
    EXPECT_EQ(redacted("redis+unix:///run/s"), "redis+unix:///run/s");
    EXPECT_EQ(redacted("sqlite:/run/s"), "sqlite:/run/s");
    EXPECT_EQ(redacted("sqlite:///run/s"), "sqlite:/run/s");
    EXPECT_EQ(redacted("sqlite:s?synchronous=full"), "sqlite:s?synchronous=full");
}

TEST(redis_url, has_defaults_that_are_documented) {
    const auto t = parse_redis_url("redis://localhost").value();
    EXPECT_EQ(t.address, (server_address{.host = "localhost", .port = 6379, .unix_path = {}}));
    EXPECT_EQ(t.options.connect_timeout, 2s);
    EXPECT_EQ(t.options.reply_timeout, 5s);
    EXPECT_EQ(t.options.connections, 1U);
    EXPECT_EQ(t.options.sessions, 64U);
    EXPECT_EQ(t.options.client_name, "holdfast");
    EXPECT_EQ(t.options.max_queued, 65536U);
    EXPECT_EQ(t.options.max_in_flight_bytes, 4U << 20);
    EXPECT_EQ(t.options.max_reply_bytes, 512U << 20);
    EXPECT_EQ(t.options.backoff_min, 10ms);
    EXPECT_EQ(t.options.backoff_max, 2s);
    EXPECT_FALSE(t.options.tls.enabled);
}

TEST(redis_url, takes_every_option) {
    const auto t = parse_redis_url(
                       "rediss://app:pw@db:1/7?connect_timeout=200ms&reply_timeout=1m&connections=3"
                       "&sessions=9&client_name=x&verify=none&ca_file=/ca&cert_file=/c&key_file=/k"
                       "&server_name=s&max_queued=10&max_in_flight_bytes=2k&max_reply_bytes=1m"
                       "&backoff_min=1ms&backoff_max=4s")
                       .value();
    EXPECT_EQ(t.address.port, 1);
    EXPECT_EQ(t.options.user, "app");
    EXPECT_EQ(t.options.password, "pw");
    EXPECT_EQ(t.options.database, 7);
    EXPECT_EQ(t.options.connect_timeout, 200ms);
    EXPECT_EQ(t.options.reply_timeout, 1min);
    EXPECT_EQ(t.options.connections, 3U);
    EXPECT_EQ(t.options.sessions, 9U);
    EXPECT_EQ(t.options.client_name, "x");
    EXPECT_TRUE(t.options.tls.enabled);
    EXPECT_EQ(t.options.tls.verify, tls_verify::none);
    EXPECT_EQ(t.options.tls.ca_file, "/ca");
    EXPECT_EQ(t.options.tls.cert_file, "/c");
    EXPECT_EQ(t.options.tls.key_file, "/k");
    EXPECT_EQ(t.options.tls.server_name, "s");
    EXPECT_EQ(t.options.max_queued, 10U);
    EXPECT_EQ(t.options.max_in_flight_bytes, 2048U);
    EXPECT_EQ(t.options.max_reply_bytes, 1U << 20);
    EXPECT_EQ(t.options.backoff_min, 1ms);
    EXPECT_EQ(t.options.backoff_max, 4s);
}

TEST(redis_url, that_is_wrong_says_what_is_taken) {
    struct {
        const char* text;
        const char* says;
    } const table[] = {
        {"redis://h?conect_timeout=1s", "did you mean 'connect_timeout'?"},
        {"redis://h?password=canary", "not known: 'password'"},
        {"reddis://h", "did you mean 'redis'?"},
        {"postgresql://h", "redis, rediss and redis+unix"},
        {"redis://h?connect_timeout=5", "500us, 200ms, 2s or 1m"},
        {"redis://h?connect_timeout=0s", "a time"},
        {"redis://h?connections=0", "1 to 64"},
        {"redis://h?connections=65", "1 to 64"},
        {"redis://h?verify=maybe", "full or none"},
        {"redis://h?cert_file=x", "key_file"},
        {"redis://h?client_name=a%20b", "printable"},
        {"redis://h/x", "database number"},
        {"redis://h/canary/1", "database number"},
        {"redis://a,b", "one host"},
        {"redis:", "one host"},
        {"redis+unix://h/x", "holds a path"},
        {"redis+unix:", "holds a path"},
        {"redis://app@h", "without a password"},
        {"redis://h?password_file=/nowhere/canary", "readable file"},
        {"redis://h?password_env=HOLDFAST_NO_SUCH_CANARY", "that is set"},
        {"redis://h?backoff_min=3s&backoff_max=1s", "smaller"},
    };
    for (const auto& row : table) {
        const auto parsed = parse_redis_url(row.text);
        ASSERT_FALSE(parsed) << row.text;
        EXPECT_EQ(parsed.error(), errc::invalid_argument);
        EXPECT_NE(parsed.error().detail.find(row.says), std::string::npos)
            << row.text << " -> " << parsed.error().detail;
        EXPECT_EQ(parsed.error().detail.find("canary"), std::string::npos);
        EXPECT_EQ(parsed.error().detail.find("CANARY"), std::string::npos);
    }
}

TEST(server_address, is_written_as_people_write_it) {
    EXPECT_EQ(to_string(server_address{.host = "db", .port = 1, .unix_path = {}}), "db:1");
    EXPECT_EQ(to_string(server_address{.host = "::1", .port = 1, .unix_path = {}}), "[::1]:1");
    EXPECT_EQ(to_string(server_address{.host = {}, .unix_path = "/s"}), "unix:/s");
}

}  // namespace
}  // namespace holdfast
