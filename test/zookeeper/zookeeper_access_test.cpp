// SPDX-License-Identifier: Apache-2.0
//
// What a URL of ZooKeeper may say, who may enter, and what is said when it cannot be.
#include "open/zookeeper_url.hpp"

#include "zookeeper/zookeeper_ground.hpp"

#include "driver/zookeeper/zookeeper_report.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace holdfast::test {
namespace {

using testing::HasSubstr;
using testing::Not;

result<zookeeper::zookeeper_options> read(const std::string& text) {
    return detail::read_zookeeper_url(parse_url(text).value());
}

TEST(zookeeper_url, names_servers_user_root_and_recipe) {
    const auto said = read("zookeeper://app:pw@z1,z2:2281,[::1]/apps/locks/?recipe=curator");
    ASSERT_TRUE(said);
    ASSERT_EQ(said->servers.size(), 3U);
    EXPECT_EQ(said->servers[0].port, 2181);
    EXPECT_EQ(said->servers[1].port, 2281);
    EXPECT_EQ(said->servers[2].host, "::1");
    EXPECT_EQ(said->user, "app");
    EXPECT_EQ(said->password, "pw");
    EXPECT_EQ(said->root, "/apps/locks");
    EXPECT_EQ(said->names, zookeeper::recipe::curator);
    EXPECT_EQ(read("zookeeper://z1")->root, "/holdfast");
}

TEST(zookeeper_url, refuses_what_makes_no_sense) {
    for (const char* const bad :
         {"zookeeper:", "zookeeper://:pw@z1", "zookeeper://app@z1", "zookeeper://z1/a//b",
          "zookeeper://z1/a/../b", "zookeeper://z1/zookeeper/x", "zookeeper://z1?recipe=mine",
          "zookeeper://app@z1?password_file=/nowhere/at/all", "zookeeper://z1?recip=kazoo"}) {
        const auto said = read(bad);
        ASSERT_FALSE(said) << bad;
        EXPECT_EQ(said.error(), errc::invalid_argument);
    }
    const auto tls = holdfast::open("zookeepers://z1");
    ASSERT_FALSE(tls);
    EXPECT_EQ(tls.error(), errc::unsupported);
    EXPECT_THAT(tls.error().detail, HasSubstr("without TLS"));
}

TEST(zookeeper_access, an_address_where_nobody_is_is_told_in_a_sentence) {
    auto nobody = holdfast::open("zookeeper://127.0.0.1:1", {.request_timeout = 300ms}).value();
    const auto held = nobody.mutex("job").try_acquire({});
    ASSERT_FALSE(held);
    EXPECT_EQ(held.error(), errc::unavailable) << held.error().detail;
    EXPECT_THAT(held.error().detail, HasSubstr("127.0.0.1:1"));
    auto nowhere =
        holdfast::open("zookeeper://nowhere.invalid", {.request_timeout = 300ms}).value();
    const auto none = nowhere.mutex("job").try_acquire({});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error(), errc::unavailable) << none.error().detail;
    EXPECT_THAT(none.error().detail, HasSubstr("nowhere.invalid"));
}

TEST(zookeeper_access, only_who_knows_the_password_gets_to_a_users_names) {
    const auto url_for = [](const std::string& who, const std::string& rest) {
        return "zookeeper://" + who + shared_zookeeper().hosts() + rest;
    };
    ::setenv("HOLDFAST_TEST_SECRET", "app-secret", 1);
    auto app =
        holdfast::open(url_for("app@", "/guarded/locks?password_env=HOLDFAST_TEST_SECRET")).value();
    auto held = app.mutex("job").try_acquire({});
    ASSERT_TRUE(held) << held.error().detail;
    auto same = holdfast::open(url_for("app:app-secret@", "/guarded/locks")).value();
    EXPECT_EQ(same.mutex("job").try_acquire({}).error(), errc::busy);
    for (const std::string& who : {std::string(), std::string("app:wrong-secret@")}) {
        auto other = holdfast::open(url_for(who, "/guarded/locks")).value();
        for (const char* const name : {"job", "another"}) {
            const auto denied = other.mutex(name).try_acquire({});
            ASSERT_FALSE(denied) << who;
            EXPECT_EQ(denied.error(), errc::denied) << denied.error().detail;
            EXPECT_THAT(denied.error().detail, Not(HasSubstr("secret")));
        }
    }
    EXPECT_TRUE(std::move(*held).release());
}

TEST(zookeeper_access, has_no_traffic_control) {
    auto hf = holdfast::open(shared_zookeeper().url()).value();
    EXPECT_EQ(hf.commands(), nullptr);
    EXPECT_FALSE(hf.can().resize);
    EXPECT_EQ(hf.semaphore("pool", 3).resize(4).error(), errc::unsupported);
}

TEST(zookeeper_access, servers_tell_what_they_are) {
    const auto seen =
        zookeeper::report_on(all_of_zookeeper(), system_clock(), system_clock().now() + 20s);
    std::size_t leaders = 0;
    for (const auto& one : seen.servers) {
        ASSERT_TRUE(one) << one.error().detail;
        EXPECT_THAT(one->version, testing::StartsWith("3."));
        if (one->mode == "leader") ++leaders;
    }
    EXPECT_EQ(leaders, 1U);
    ASSERT_TRUE(seen.session) << seen.session.error().detail;
    EXPECT_EQ(seen.shortest, 1s);
    EXPECT_EQ(seen.longest, 60s);
    EXPECT_GT(seen.write_time, 0s);
    const auto nobody =
        zookeeper::report_on(zookeeper_at({1}), system_clock(), system_clock().now() + 200ms);
    EXPECT_FALSE(nobody.servers[0]);
    EXPECT_FALSE(nobody.session);
}

}  // namespace
}  // namespace holdfast::test
