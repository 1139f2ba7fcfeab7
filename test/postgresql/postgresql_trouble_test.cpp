// SPDX-License-Identifier: Apache-2.0
//
// What can be wrong with a server or with what we may do there: one sentence each.
#include "postgresql/postgresql_ground.hpp"

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

std::string at(postgres_server& server, const std::string& user, const std::string& rest) {
    return "postgresql://" + user + "@127.0.0.1:" + std::to_string(server.port()) + rest;
}

TEST(postgresql_trouble, a_wrong_address_is_told) {
    const auto port = std::to_string(free_port());
    const error why = trouble_at("postgresql://127.0.0.1:" + port + "/postgres");
    EXPECT_EQ(why.code, errc::unavailable);
    EXPECT_THAT(why.detail,
                HasSubstr("127.0.0.1:" + port + "/postgres: the server cannot be reached"));
}

TEST(postgresql_trouble, a_wrong_password_is_told_and_not_repeated) {
    postgres_server server({.access = {"host all all 127.0.0.1/32 scram-sha-256"}});
    server.sql("CREATE ROLE app LOGIN PASSWORD 'right'");
    const error why = trouble_at(at(server, std::string("app:") + secret, "/postgres"));
    EXPECT_EQ(why.code, errc::denied);
    EXPECT_THAT(why.detail, AllOf(HasSubstr("the password is wrong"), Not(HasSubstr(secret))));
    const error none = trouble_at(at(server, "app", "/postgres"));
    EXPECT_EQ(none.code, errc::denied);
    EXPECT_THAT(none.detail, HasSubstr("the server wants a password"));
}

TEST(postgresql_trouble, the_password_may_come_from_a_file) {
    postgres_server server({.access = {"host all all 127.0.0.1/32 scram-sha-256"}});
    server.sql("CREATE ROLE app LOGIN PASSWORD 'sesame'; GRANT ALL ON SCHEMA public TO app");
    const temporary_directory folder;
    std::ofstream(folder.path() / "password") << "sesame\n";
    const auto url =
        at(server, "app", "/postgres?password_file=" + (folder.path() / "password").string());
    EXPECT_EQ(trouble_at(url).detail, "it was granted");
}

TEST(postgresql_trouble, a_user_who_may_not_create_tables_is_told_what_to_do) {
    postgres_server& server = shared_postgres();
    server.sql("CREATE DATABASE rights");
    server.sql("CREATE ROLE poor LOGIN");
    const auto url = at(server, "poor", "/rights");
    const error why = trouble_at(url);
    EXPECT_EQ(why.code, errc::denied);
    EXPECT_THAT(why.detail, HasSubstr("holdfast schema --engine postgresql"));

    ASSERT_EQ(trouble_at(server.url("rights")).detail, "it was granted");
    const error unread = trouble_at(url);
    EXPECT_EQ(unread.code, errc::denied);
    EXPECT_THAT(unread.detail, HasSubstr("grant SELECT, INSERT, UPDATE and DELETE"));

    server.sql("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO poor",
               "rights");
    EXPECT_EQ(trouble_at(url).detail, "it was granted");
}

TEST(postgresql_trouble, a_server_that_can_only_be_read_is_told) {
    postgres_server& server = shared_postgres();
    server.sql("CREATE DATABASE still");
    ASSERT_EQ(trouble_at(server.url("still")).detail, "it was granted");
    server.sql("ALTER DATABASE still SET default_transaction_read_only = on");
    const error why = trouble_at(server.url("still"));
    EXPECT_EQ(why.code, errc::unavailable);
    EXPECT_THAT(why.detail, HasSubstr("this server can only be read: connect to the primary"));
}

TEST(postgresql_trouble, a_replica_is_passed_over_if_another_server_is_named) {
    postgres_server reads({.settings = {"default_transaction_read_only=on"}});
    const auto both = "postgresql://postgres@127.0.0.1:" + std::to_string(reads.port()) +
                      ",127.0.0.1:" + std::to_string(shared_postgres().port()) + "/postgres";
    auto on = open(both);
    ASSERT_TRUE(on) << on.error().detail;
    const auto held = on->mutex("passed over").try_acquire();
    EXPECT_TRUE(held) << held.error().detail;
}

TEST(postgresql_trouble, too_many_connections_are_told) {
    postgres_server server({.settings = {"max_connections=5", "superuser_reserved_connections=3"}});
    server.sql("CREATE ROLE app LOGIN; GRANT ALL ON SCHEMA public TO app");
    const auto url = at(server, "app", "/postgres");
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

TEST(postgresql_trouble, a_server_without_tls_is_not_spoken_to_in_the_open) {
    const auto url = shared_postgres().url() + "?sslmode=verify-full";
    const error why = trouble_at(url);
    EXPECT_EQ(why.code, errc::unavailable);
    EXPECT_THAT(why.detail, HasSubstr("the server does not speak TLS"));
}

TEST(postgresql_trouble, a_certificate_is_verified) {
    const tls_material material;
    const tls_material other;
    postgres_server server({.tls = &material});
    const std::string url = server.url() + "?sslmode=verify-full&ca_file=";
    EXPECT_EQ(trouble_at(url + material.ca_certificate().string()).detail, "it was granted");
    const error why = trouble_at(url + other.ca_certificate().string());
    EXPECT_EQ(why.code, errc::unavailable);
    EXPECT_THAT(why.detail, HasSubstr("certificate cannot be verified"));
}

TEST(postgresql_trouble, a_unix_socket_needs_no_host) {
    const auto url =
        "postgresql:///postgres?user=postgres&host=" + shared_postgres().directory().string() +
        "&port=" + std::to_string(shared_postgres().port());
    const error why = trouble_at(url);
    EXPECT_EQ(why.detail, "it was granted");
}

}  // namespace
}  // namespace holdfast::test
