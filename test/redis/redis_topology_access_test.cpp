// SPDX-License-Identifier: Apache-2.0
//
// Ways in where there is more than one server: TLS and passwords, of the servers and of the
// sentinels.
#include <holdfast/redis/redis.hpp>

#include "support/redis_cluster_group.hpp"
#include "support/redis_sentinel_group.hpp"
#include "support/tls_material.hpp"
#include "support/wait_for.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using test::wait_for;

time_point soon() {
    return system_clock().now() + 5s;
}

/// Six servers that speak TLS only, and two passwords.
class redis_sentinel_access : public testing::Test {
protected:
    static void SetUpTestSuite() {
        ::setenv("HOLDFAST_TEST_SENTINEL_PASSWORD", "of-the-sentinels", 1);
        ::setenv("HOLDFAST_TEST_WRONG_PASSWORD", "canary-secret", 1);
    }
    [[nodiscard]] std::string url(const std::string& password_env) const {
        const std::string ca = material_.ca_certificate().string();
        return group_.url() + "?ca_file=" + ca + "&sentinel_ca_file=" + ca +
               "&sentinel_password_env=" + password_env;
    }

    test::tls_material material_;
    test::redis_sentinel_group group_{
        {.server = {.tls = &material_, .password = "of-the-servers"},
         .sentinel = {.tls = &material_, .password = "of-the-sentinels"}}};
};

TEST_F(redis_sentinel_access, a_master_is_followed_over_tls_with_passwords_on_both_sides) {
    auto engine = open_redis(url("HOLDFAST_TEST_SENTINEL_PASSWORD")).value();
    const auto set = engine->execute(words("SET", "k", "before"), soon());
    ASSERT_TRUE(set) << to_string(set.error());
    group_.failover();
    wait_for("a write on the new master", [&] {
        return engine->execute(words("SET", "k", "after").idempotent(), soon()).has_value();
    });
    EXPECT_EQ(group_.master().raw("GET", "k"), reply::string("after"));
}

TEST_F(redis_sentinel_access, a_wrong_password_of_the_sentinels_is_refused_and_never_shown) {
    auto engine = open_redis(url("HOLDFAST_TEST_WRONG_PASSWORD")).value();
    const auto r = engine->execute(words("SET", "k", "v"), soon());
    ASSERT_FALSE(r);
    const std::string text = to_string(r.error());
    EXPECT_EQ(text.find("canary"), std::string::npos) << text;
    EXPECT_NE(text.find("WRONGPASS"), std::string::npos) << text;
    EXPECT_EQ(group_.master().raw("EXISTS", "k"), reply::integer(0));
}

TEST(redis_cluster_access, every_slot_is_served_over_tls_with_a_password) {
    test::tls_material material;
    test::redis_cluster_group group({.tls = &material, .password = "of-the-nodes"});
    auto engine =
        open_redis(group.url() + "?ca_file=" + material.ca_certificate().string()).value();
    for (int i = 0; i < 100; ++i) {
        const std::string key = "key:" + std::to_string(i);
        const auto set = engine->execute(words("SET", key, i), soon());
        ASSERT_TRUE(set) << to_string(set.error());
        EXPECT_EQ(engine->execute(words("GET", key), soon()).value(),
                  reply::string(std::to_string(i)));
    }
    int masters = 0;
    std::int64_t keys = 0;
    for (const auto& node : group.nodes()) {
        if (node->raw("ROLE").elements().at(0).text() != "master") continue;
        const std::int64_t here = node->raw("DBSIZE").number();
        masters += here > 0;
        keys += here;
    }
    EXPECT_EQ(masters, 3) << "else this shows nothing";
    EXPECT_EQ(keys, 100);
}

TEST(redis_cluster_access, a_node_whose_certificate_nobody_vouches_for_is_denied) {
    test::tls_material material;
    test::redis_cluster_group group({.tls = &material, .password = "canary-secret"});
    auto engine = open_redis(group.url()).value();
    const auto r = engine->execute(words("SET", "k", "v"), soon());
    ASSERT_FALSE(r);
    EXPECT_EQ(to_string(r.error()).find("canary"), std::string::npos) << to_string(r.error());
    EXPECT_NE(r.error().detail.find("certificate"), std::string::npos) << to_string(r.error());
}

}  // namespace
}  // namespace holdfast
