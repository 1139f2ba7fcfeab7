// SPDX-License-Identifier: Apache-2.0
//
// What a URL of etcd may say.
#include "open/etcd_url.hpp"

#include "etcd/etcd_ground.hpp"

#include <holdfast/cooldown.hpp>

namespace holdfast::test {
namespace {

result<etcd::etcd_options> read(const std::string& text) {
    return detail::read_etcd_url(parse_url(text).value());
}

TEST(etcd_url, names_servers_user_and_root) {
    const auto said = read("etcds://app:pw@e1,e2:2479,[::1]/locks/app/?connect_timeout=2s");
    ASSERT_TRUE(said);
    ASSERT_EQ(said->servers.size(), 3U);
    EXPECT_EQ(said->servers[0].port, 2379);
    EXPECT_EQ(said->servers[1].port, 2479);
    EXPECT_EQ(said->servers[2].host, "::1");
    EXPECT_TRUE(said->tls);
    EXPECT_EQ(said->user, "app");
    EXPECT_EQ(said->password, "pw");
    EXPECT_EQ(said->root, "locks/app");
    EXPECT_EQ(said->connect_timeout, 2s);
    EXPECT_EQ(read("etcd://e1")->root, "holdfast");
    EXPECT_EQ(read("etcd://e1//locks")->root, "/locks") << "as programs that begin with a slash";
}

TEST(etcd_url, refuses_what_makes_no_sense) {
    for (const char* const bad :
         {"etcd:", "etcd://:pw@e1", "etcd://e1?ca_file=/x", "etcds://e1?certificate_file=/x",
          "etcd://e1?connect_timeout=never", "etcd://e1?password_file=/nowhere/at/all",
          "etcd://e1?conect_timeout=1s"}) {
        const auto said = read(bad);
        ASSERT_FALSE(said) << bad;
        EXPECT_EQ(said.error(), errc::invalid_argument);
    }
    const auto missing = holdfast::open("etcds://127.0.0.1:1?ca_file=/nowhere/ca.crt");
    ASSERT_FALSE(missing);
    EXPECT_THAT(missing.error().detail, testing::HasSubstr("/nowhere/ca.crt"));
}

TEST(etcd_url, has_traffic_control_beside_its_leases) {
    auto hf = holdfast::open(shared_etcd().url()).value();
    cooldown calm(hf, {.window = 1h});
    EXPECT_TRUE(calm.take("key").value().allowed);
    EXPECT_FALSE(calm.take("key").value().allowed);
    ASSERT_TRUE(calm.clear("key"));
    EXPECT_TRUE(hf.list("cooldown").value().empty()) << "its keys are no leases";
    EXPECT_FALSE(hf.can().resize);
    EXPECT_EQ(hf.semaphore("pool", 3).resize(4).error(), errc::unsupported);
}

}  // namespace
}  // namespace holdfast::test
