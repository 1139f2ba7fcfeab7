// SPDX-License-Identifier: Apache-2.0
//
// What can be wrong with a server or with what we may do there: one sentence each.
#include "mysql/mysql_ground.hpp"

#include "support/free_port.hpp"
#include "support/temporary_directory.hpp"
#include "support/tls_material.hpp"

#include <fstream>

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* secret = "sesame-canary";

error trouble_at(const std::string& url) {
    auto on = open(url);
    if (!on) return on.error();
    const auto held = on->mutex("job").try_acquire();
    return held ? error{errc::busy, "it was granted"} : held.error();
}

std::string at(mariadb_server& server, const std::string& user, const std::string& rest) {
    return "mysql://" + user + "@127.0.0.1:" + std::to_string(server.port()) + rest;
}

TEST(mysql_trouble, a_wrong_address_is_told) {
    const auto port = std::to_string(free_port());
    const error why = trouble_at("mysql://127.0.0.1:" + port + "/app");
    EXPECT_EQ(why.code, errc::unavailable);
    EXPECT_THAT(why.detail, HasSubstr("127.0.0.1:" + port + "/app: the server cannot be reached"));
}

TEST(mysql_trouble, a_wrong_password_is_told_and_not_repeated) {
    mariadb_server& server = shared_mariadb();
    server.sql("CREATE USER wary@'%' IDENTIFIED BY 'right'; GRANT ALL ON app.* TO wary@'%'");
    const error why = trouble_at(at(server, std::string("wary:") + secret, "/app"));
    EXPECT_EQ(why.code, errc::denied);
    EXPECT_THAT(why.detail, AllOf(HasSubstr("the password is wrong"), Not(HasSubstr(secret))));
    EXPECT_EQ(trouble_at(at(server, "wary", "/app")).code, errc::denied);
    EXPECT_EQ(trouble_at(at(server, "wary:right", "/app")).detail, "it was granted");
}

TEST(mysql_trouble, the_password_may_come_from_a_file) {
    mariadb_server& server = shared_mariadb();
    server.sql("CREATE USER filed@'%' IDENTIFIED BY 'sesame'; GRANT ALL ON app.* TO filed@'%'");
    const temporary_directory folder;
    std::ofstream(folder.path() / "password") << "sesame\n";
    const auto url =
        at(server, "filed", "/app?password_file=" + (folder.path() / "password").string());
    EXPECT_EQ(trouble_at(url).detail, "it was granted");
}

TEST(mysql_trouble, a_user_who_may_not_create_tables_is_told_what_to_do) {
    mariadb_server& server = shared_mariadb();
    server.sql(
        "CREATE DATABASE rights; CREATE USER poor@'%'; GRANT SELECT ON rights.* TO poor@'%'");
    const auto url = at(server, "poor", "/rights");
    const error why = trouble_at(url);
    EXPECT_EQ(why.code, errc::denied);
    EXPECT_THAT(why.detail, HasSubstr("let an administrator run what `holdfast schema --engine "
                                      "mysql` prints"));

    ASSERT_EQ(trouble_at(server.url("rights")).detail, "it was granted");
    const error unwritten = trouble_at(url);
    EXPECT_EQ(unwritten.code, errc::denied);
    EXPECT_THAT(unwritten.detail, HasSubstr("grant SELECT, INSERT, UPDATE and DELETE"));

    server.sql("GRANT INSERT, UPDATE, DELETE ON rights.* TO poor@'%'");
    EXPECT_EQ(trouble_at(url).detail, "it was granted");
}

TEST(mysql_trouble, a_replica_is_told_and_passed_over_if_another_server_is_named) {
    mariadb_server replica;
    replica.sql("CREATE USER app@'%'; GRANT ALL ON app.* TO app@'%'; SET GLOBAL read_only = 1");
    shared_mariadb().sql("CREATE OR REPLACE USER app@'%'; GRANT ALL ON app.* TO app@'%'");
    const error why = trouble_at(at(replica, "app", "/app"));
    EXPECT_EQ(why.code, errc::unavailable);
    EXPECT_THAT(why.detail, HasSubstr("this server can only be read: connect to the primary"));

    const auto both = "mysql://app@127.0.0.1:" + std::to_string(replica.port()) +
                      ",127.0.0.1:" + std::to_string(shared_mariadb().port()) + "/app";
    auto on = open(both);
    ASSERT_TRUE(on) << on.error().detail;
    const auto held = on->mutex("passed over").try_acquire();
    EXPECT_TRUE(held) << held.error().detail;
}

TEST(mysql_trouble, too_many_connections_are_told) {
    mariadb_server& server = shared_mariadb();
    server.sql("CREATE USER many@'%' WITH MAX_USER_CONNECTIONS 2; GRANT ALL ON app.* TO many@'%'");
    const auto url = at(server, "many", "/app");
    std::vector<client> others;
    error why{errc::busy, ""};
    for (int i = 0; i < 4 && why.code == errc::busy; ++i) {
        others.push_back(open(url).value());
        const auto held = others.back().mutex("job").try_acquire();
        if (!held && held.error() != errc::busy) why = held.error();
    }
    EXPECT_EQ(why.code, errc::unavailable);
    EXPECT_THAT(why.detail, HasSubstr("too many connections: raise its max_connections"));
}

TEST(mysql_trouble, a_server_without_tls_is_not_spoken_to_in_the_open) {
    const error why = trouble_at(shared_mariadb().url() + "?sslmode=verify-full");
    EXPECT_EQ(why.code, errc::unavailable);
    EXPECT_THAT(why.detail, HasSubstr("the server does not speak TLS"));
}

TEST(mysql_trouble, a_certificate_is_verified) {
    const tls_material material;
    const tls_material other;
    mariadb_server server({.tls = &material});
    const std::string url = server.url() + "?sslmode=verify-full&ca_file=";
    EXPECT_EQ(trouble_at(url + material.ca_certificate().string()).detail, "it was granted");
    const error why = trouble_at(url + other.ca_certificate().string());
    EXPECT_EQ(why.code, errc::unavailable);
    EXPECT_THAT(why.detail, HasSubstr("certificate cannot be verified"));
}

TEST(mysql_trouble, a_unix_socket_needs_no_host) {
    const auto url = "mysql:///app?user=root&socket=" + shared_mariadb().socket().string();
    EXPECT_EQ(trouble_at(url).detail, "it was granted");
}

// What a stopped client keeps locked is not waited for without end.
TEST(mysql_trouble, a_row_that_somebody_keeps_locked_is_told) {
    mariadb_server& server = shared_mariadb();
    ASSERT_EQ(trouble_at(server.url()).detail, "it was granted");
    const std::jthread other([&] {
        server.sql(
            "BEGIN; SELECT 1 FROM holdfast_names WHERE name = 'job' FOR UPDATE; "
            "DO GET_LOCK('job is locked', 0); DO SLEEP(1)");
    });
    wait_for("the other's lock",
             [&] { return server.sql("SELECT IS_USED_LOCK('job is locked')").front() != "NULL"; });
    const error why = trouble_at(server.url() + "?statement_timeout=200ms");
    EXPECT_EQ(why.code, errc::unavailable);
    EXPECT_THAT(why.detail, HasSubstr("longer than statement_timeout"));
}

}  // namespace
}  // namespace holdfast::test
