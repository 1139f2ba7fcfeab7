// SPDX-License-Identifier: Apache-2.0
//
// Ways in: TLS, unix socket, users and passwords, database, name.
#include <holdfast/redis/redis.hpp>

#include "support/redis_server.hpp"
#include "support/tls_material.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

time_point soon() {
    return system_clock().now() + 5s;
}

result<reply> ask(const std::string& url, const command& c) {
    auto engine = open_redis(url);
    if (!engine) return std::unexpected(engine.error());
    return (*engine)->execute(c, soon());
}

TEST(redis_access, a_unix_socket_serves_as_well) {
    test::redis_server server({.on = test::redis_options::listen::unix_socket});
    EXPECT_EQ(ask(server.url(), words("PING")).value(), reply::status("PONG"));
    EXPECT_EQ(ask(server.url() + "?db=3", words("SET", "k", "v")).value(), reply::status("OK"));
    EXPECT_EQ(ask(server.url() + "?db=3", words("DBSIZE")).value(), reply::integer(1));
    EXPECT_EQ(ask(server.url(), words("DBSIZE")).value(), reply::integer(0));
}

TEST(redis_access, the_database_of_the_path_is_selected_and_the_name_is_told) {
    test::redis_server server;
    ASSERT_TRUE(ask(server.url() + "/2", words("SET", "k", "v")));
    EXPECT_EQ(ask(server.url() + "/2", words("DBSIZE")).value(), reply::integer(1));
    EXPECT_EQ(ask(server.url() + "/1", words("DBSIZE")).value(), reply::integer(0));
    EXPECT_EQ(ask(server.url() + "?client_name=me", words("CLIENT", "GETNAME")).value().text(),
              "me");
    const auto beyond = ask(server.url() + "/99", words("PING"));
    ASSERT_FALSE(beyond);
    EXPECT_NE(beyond.error().detail.find("SELECT"), std::string::npos) << beyond.error().detail;
}

TEST(redis_access, a_wrong_password_is_denied_and_never_shown) {
    test::redis_server server({.password = "right"});
    const std::string at = "127.0.0.1:" + std::to_string(server.port());
    EXPECT_TRUE(ask("redis://:right@" + at, words("PING")));
    for (const std::string& url : {"redis://:canary-secret@" + at, "redis://" + at}) {
        const auto r = ask(url, words("SET", "k", "v"));
        ASSERT_FALSE(r);
        EXPECT_EQ(r.error(), errc::denied) << to_string(r.error());
        EXPECT_EQ(to_string(r.error()).find("canary"), std::string::npos);
    }
    EXPECT_EQ(server.raw("EXISTS", "k"), reply::integer(0));
}

TEST(redis_access, a_password_for_a_server_without_one_does_not_fall_back_to_anonymous) {
    test::redis_server server;
    const std::string at = "127.0.0.1:" + std::to_string(server.port());
    const auto r = ask("redis://someone:canary@" + at, words("SET", "k", "v"));
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error(), errc::denied);
    EXPECT_EQ(server.raw("EXISTS", "k"), reply::integer(0));
}

TEST(redis_access, a_password_comes_from_a_file_or_the_environment) {
    test::redis_server server({.password = "right"});
    const std::string at = "redis://127.0.0.1:" + std::to_string(server.port());
    const auto file = server.directory() / "password";
    std::ofstream(file) << "right\n";
    EXPECT_TRUE(ask(at + "?password_file=" + file.string(), words("PING")));
    ::setenv("HOLDFAST_TEST_PASSWORD", "right", 1);
    EXPECT_TRUE(ask(at + "?password_env=HOLDFAST_TEST_PASSWORD", words("PING")));
}

TEST(redis_access, a_user_that_may_do_only_what_we_need_is_enough) {
    test::redis_server server({.acl = {"user app on >secret ~lock:* resetchannels &grant:* -@all "
                                       "+set +get +evalsha +script|load +subscribe +unsubscribe "
                                       "+publish"}});
    const std::string url = "redis://app:secret@127.0.0.1:" + std::to_string(server.port());
    auto engine = open_redis(url).value();
    EXPECT_TRUE(engine->execute(words("SET", "lock:a", "x"), soon()));
    const script get("return redis.call('GET', KEYS[1])");
    const std::string_view key = "lock:a";
    EXPECT_EQ(engine->evaluate(get, {&key, 1}, {}, soon()).value(), reply::string("x"));
    EXPECT_EQ(engine->execute(words("SET", "other", "x"), soon()).error(), errc::denied);
    EXPECT_EQ(engine->execute(words("FLUSHALL"), soon()).error(), errc::denied);
    EXPECT_TRUE(engine->subscribe("grant:1", channel_scope::global, [](const auto&) {}, soon()));
    const auto refused =
        engine->subscribe("other", channel_scope::global, [](const auto&) {}, soon());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), errc::denied) << to_string(refused.error());
}

class redis_tls_access : public testing::Test {
protected:
    static std::string at(const test::redis_server& s, const std::string& options) {
        return "rediss://127.0.0.1:" + std::to_string(s.port()) + options;
    }
    test::tls_material material_;
};

TEST_F(redis_tls_access, a_certificate_of_a_known_authority_is_trusted) {
    test::redis_server server({.tls = &material_});
    auto engine = open_redis(at(server, "?ca_file=" + material_.ca_certificate().string())).value();
    const std::string big(3'000'000, 'x');
    EXPECT_EQ(engine->execute(words("SET", "k", big), soon()).value(), reply::status("OK"));
    EXPECT_EQ(engine->execute(words("GET", "k"), soon()).value().text(), big);
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int id = 0; id < 16; ++id) {
        threads.emplace_back([&, id] {
            for (int i = 1; i <= 100; ++i) {
                const auto r = engine->execute(words("INCR", id), soon());
                if (!r || r->number() != i) ++wrong;
            }
        });
    }
    for (auto& t : threads) t.join();
    EXPECT_EQ(wrong, 0);
}

TEST_F(redis_tls_access, a_certificate_of_nobody_we_know_is_denied_unless_told_otherwise) {
    test::redis_server server({.tls = &material_});
    const auto r = ask(at(server, ""), words("PING"));
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error(), errc::denied) << to_string(r.error());
    EXPECT_TRUE(ask(at(server, "?verify=none"), words("PING")));
}

TEST_F(redis_tls_access, a_certificate_for_another_host_is_denied) {
    test::redis_server server({.tls = &material_});
    const auto r =
        ask(at(server, "?server_name=other.example&ca_file=" + material_.ca_certificate().string()),
            words("PING"));
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error(), errc::denied) << to_string(r.error());
}

TEST_F(redis_tls_access, a_client_certificate_is_shown_when_demanded) {
    test::redis_server server({.tls = &material_, .arguments = {"--tls-auth-clients", "yes"}});
    const std::string ca = "?ca_file=" + material_.ca_certificate().string();
    EXPECT_FALSE(ask(at(server, ca), words("PING")));
    EXPECT_TRUE(ask(at(server, ca + "&cert_file=" + material_.client_certificate().string() +
                                   "&key_file=" + material_.client_key().string()),
                    words("PING")));
}

TEST_F(redis_tls_access, a_missing_certificate_file_is_said_before_any_connection) {
    const auto made = open_redis("rediss://localhost?ca_file=/nowhere/ca.pem");
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error(), errc::invalid_argument);
}

}  // namespace
}  // namespace holdfast
