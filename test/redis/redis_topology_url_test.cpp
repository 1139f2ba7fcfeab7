// SPDX-License-Identifier: Apache-2.0
//
// What the URLs of Sentinel and Cluster say, and how they are refused.
#include <holdfast/redis/redis_topology.hpp>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

result<redis_sentinel_target> sentinel(std::string_view text) {
    return parse_redis_sentinel_url(parse_url(text).value());
}
result<redis_cluster_target> cluster(std::string_view text) {
    return parse_redis_cluster_url(parse_url(text).value());
}
std::string refusal(std::string_view text) {
    const auto opened = open_redis(text);
    if (opened) return "opened";
    EXPECT_EQ(opened.error(), errc::invalid_argument);
    return opened.error().detail;
}
bool holds(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

TEST(sentinel_url, names_the_sentinels_the_master_and_its_database) {
    const auto t = sentinel("redis-sentinel://app:pw@s1,s2:26380,[::1]/orders/3?reply_timeout=1s");
    ASSERT_TRUE(t) << to_string(t.error());
    ASSERT_EQ(t->sentinels.size(), 3U);
    EXPECT_EQ(to_string(t->sentinels[0]), "s1:26379");
    EXPECT_EQ(to_string(t->sentinels[1]), "s2:26380");
    EXPECT_EQ(to_string(t->sentinels[2]), "[::1]:26379");
    EXPECT_EQ(t->master, "orders");
    EXPECT_EQ(t->options.database, 3);
    EXPECT_EQ(t->options.user, "app");
    EXPECT_EQ(t->options.reply_timeout, 1s);
}

TEST(sentinel_url, keeps_the_sentinels_options_apart_from_the_servers) {
    ::setenv("HOLDFAST_TEST_SENTINEL_PASSWORD", "guard", 1);
    const auto t = sentinel(
        "redis-sentinel://app:pw@s1/m?sentinel_user=watch&"
        "sentinel_password_env=HOLDFAST_TEST_SENTINEL_PASSWORD&sentinel_reply_timeout=50ms");
    ASSERT_TRUE(t) << to_string(t.error());
    EXPECT_EQ(t->options.password, "pw");
    EXPECT_EQ(t->sentinel_options.user, "watch");
    EXPECT_EQ(t->sentinel_options.password, "guard");
    EXPECT_EQ(t->sentinel_options.reply_timeout, 50ms);
    EXPECT_EQ(t->sentinel_options.connect_timeout, 500ms);
    EXPECT_EQ(t->options.reply_timeout, 5s);
}

TEST(sentinel_url, without_tls_has_none_and_with_tls_has_it_everywhere) {
    EXPECT_FALSE(sentinel("redis-sentinel://s1/m")->sentinel_options.tls.enabled);
    EXPECT_TRUE(sentinel("rediss-sentinel://s1/m")->sentinel_options.tls.enabled);
    EXPECT_TRUE(sentinel("rediss-sentinel://s1/m")->options.tls.enabled);
}

TEST(sentinel_url, is_refused_with_what_is_wrong_in_it) {
    EXPECT_TRUE(holds(refusal("redis-sentinel://s1"), "master's name"));
    EXPECT_TRUE(holds(refusal("redis-sentinel://s1/"), "master's name"));
    EXPECT_TRUE(holds(refusal("redis-sentinel://s1/m/x"), "database number"));
    EXPECT_TRUE(holds(refusal("redis-sentinel://s1/m?sentinel_reply_timout=1s"),
                      "did you mean 'reply_timeout'"));
    EXPECT_TRUE(holds(refusal("redis-sentinel://s1/m?sentinel_db=1"), "sentinel_db"));
    EXPECT_TRUE(holds(refusal("redis-sentinel:/m"), "names hosts"));
}

TEST(cluster_url, names_its_seeds) {
    const auto t = cluster("redis-cluster://:pw@n1:7000,n2,n1:7000?connections=2");
    ASSERT_TRUE(t) << to_string(t.error());
    ASSERT_EQ(t->seeds.size(), 2U) << "the same host twice is one host";
    EXPECT_EQ(to_string(t->seeds[1]), "n2:6379");
    EXPECT_EQ(t->options.password, "pw");
    EXPECT_EQ(t->options.connections, 2U);
}

TEST(cluster_url, is_refused_with_what_is_wrong_in_it) {
    EXPECT_TRUE(holds(refusal("redis-cluster://n1/0"), "no path"));
    EXPECT_TRUE(holds(refusal("redis-cluster://n1?db=1"), "database"));
    EXPECT_TRUE(holds(refusal("redis-cluster://n1?conections=1"), "did you mean 'connections'"));
    EXPECT_TRUE(holds(refusal("redis-clustr://n1"), "did you mean 'redis-cluster'"));
}

}  // namespace
}  // namespace holdfast
