// SPDX-License-Identifier: Apache-2.0
//
// What mode=session promises: one holder at a time, a wait on the server, an end with the
// connection, and a loss that is told at once.
#include "support/fault_proxy.hpp"
#include "support/mariadb_server.hpp"
#include "support/postgres_server.hpp"
#include "support/wait_for.hpp"

#include <holdfast/client.hpp>

#include <gmock/gmock.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A server of one kind, which all cases share.
struct session_server {
    std::string name;
    std::function<std::string(std::uint16_t port)> url_at;
    std::function<std::uint16_t()> port;
    std::function<void()> end_connections;  ///< As an administrator does it.
};

session_server on_postgresql() {
    static postgres_server server;
    return {"postgresql",
            [](std::uint16_t port) {
                return "postgresql://postgres@127.0.0.1:" + std::to_string(port) +
                       "/postgres?mode=session";
            },
            [] { return server.port(); },
            [] {
                server.sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE application_name = 'holdfast'");
            }};
}

session_server on_mysql() {
    static mariadb_server server;
    return {"mysql",
            [](std::uint16_t port) {
                return "mysql://root@127.0.0.1:" + std::to_string(port) + "/app?mode=session";
            },
            [] { return server.port(); },
            [] {
                for (const std::string& id :
                     server.sql("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = 'app' "
                                "AND ID <> CONNECTION_ID()")) {
                    server.sql("KILL " + id);
                }
            }};
}

using offered = session_server (*)();

class session_leases : public testing::TestWithParam<offered> {
protected:
    session_server server = GetParam()();
    std::string url = server.url_at(server.port());
    client one = open(url).value();
    client two = open(url).value();
};

TEST_P(session_leases, can_do_less_than_rows_and_say_so) {
    const capabilities can = one.can();
    EXPECT_FALSE(can.fencing || can.shared || can.permits || can.listing || can.fair);
    EXPECT_TRUE(can.pushes);
    EXPECT_EQ(one.list("").error(), errc::unsupported);
    EXPECT_EQ(one.shared_mutex("s").try_acquire_shared().error(), errc::unsupported);
}

TEST_P(session_leases, one_holds_and_the_next_waits_on_the_server) {
    auto held = one.mutex("job").acquire();
    ASSERT_TRUE(held) << held.error().detail;
    EXPECT_EQ(two.mutex("job").try_acquire().error(), errc::busy);
    EXPECT_EQ(one.mutex("job").try_acquire().error(), errc::busy) << "the same process";
    std::jthread waiter([&] {
        auto next = two.mutex("job").acquire({.wait = 30s});
        EXPECT_TRUE(next) << next.error().detail;
    });
    ASSERT_TRUE(std::move(*held).release());
    waiter.join();
    EXPECT_TRUE(one.mutex("job").acquire({.wait = 30s}));
}

TEST_P(session_leases, exclude_each_other_under_load) {
    std::atomic<int> inside = 0;
    std::atomic<int> most = 0;
    {
        std::vector<std::jthread> all;
        for (int i = 0; i < 4; ++i) {
            all.emplace_back([&, i] {
                for (int round = 0; round < 25; ++round) {
                    auto held = (i % 2 == 0 ? one : two).mutex("crowded").acquire({.wait = 60s});
                    ASSERT_TRUE(held) << held.error().detail;
                    most = std::max<int>(most, ++inside);
                    --inside;
                    EXPECT_TRUE(std::move(*held).release());
                }
            });
        }
    }
    EXPECT_EQ(most, 1);
}

TEST_P(session_leases, long_names_and_names_that_differ_in_case_are_different_locks) {
    const std::string trunk(500, 'n');
    const auto a = one.mutex(trunk + "a").acquire();
    const auto b = one.mutex(trunk + "A").acquire();
    const auto c = one.mutex("o'ne; \\ --").acquire();
    EXPECT_TRUE(a && b && c);
    EXPECT_EQ(two.mutex(trunk + "a").try_acquire().error(), errc::busy);
}

TEST_P(session_leases, a_holder_that_was_killed_is_followed_at_once) {
    int up[2];
    ASSERT_EQ(::pipe(up), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        auto mine = open(url);
        const auto held = mine->mutex("killed").acquire({.ttl = 10min});
        const char word = held ? 'h' : 'x';
        if (::write(up[1], &word, 1) == 1) ::pause();
        ::_exit(1);
    }
    char word = 0;
    ASSERT_EQ(::read(up[0], &word, 1), 1);
    EXPECT_EQ(word, 'h');
    EXPECT_EQ(one.mutex("killed").try_acquire().error(), errc::busy);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto next = one.mutex("killed").acquire({.wait = 30s});
    EXPECT_TRUE(next) << "its ttl was ten minutes, and nobody waits for that";
    ::close(up[0]);
    ::close(up[1]);
}

TEST_P(session_leases, a_lost_connection_is_told_at_once_and_frees_the_name) {
    auto held = one.mutex("lost").acquire({.ttl = 10min});
    ASSERT_TRUE(held) << held.error().detail;
    server.end_connections();
    wait_for("the loss", [&] { return held->lost().stop_requested(); }, 30s);
    const auto next = two.mutex("lost").acquire({.wait = 30s});
    EXPECT_TRUE(next) << next.error().detail;
}

TEST_P(session_leases, a_waiter_whose_connection_was_lost_waits_on_another) {
    fault_proxy proxy(server.port());
    auto through = open(server.url_at(proxy.port())).value();
    auto held = one.mutex("reconnects").acquire();
    ASSERT_TRUE(held) << held.error().detail;
    std::jthread waiter([&] {
        auto next = through.mutex("reconnects").acquire({.wait = 60s});
        EXPECT_TRUE(next) << next.error().detail;
    });
    proxy.reset();
    proxy.pass();
    ASSERT_TRUE(std::move(*held).release());
}

TEST_P(session_leases, a_lease_takes_a_connection_and_too_many_are_told) {
    auto narrow = open(url + "&connections=2").value();
    const auto a = narrow.mutex("a").acquire();
    auto b = narrow.mutex("b").acquire();
    ASSERT_TRUE(a && b);
    const auto c = narrow.mutex("c").try_acquire();
    EXPECT_EQ(c.error(), errc::unavailable);
    EXPECT_THAT(c.error().detail, HasSubstr("raise connections="));
    ASSERT_TRUE(std::move(*b).release());
    EXPECT_TRUE(narrow.mutex("c").try_acquire());
}

const testing::internal::ParamGenerator<offered> all_servers = testing::Values(
#if defined(HOLDFAST_TEST_POSTGRESQL) && defined(HOLDFAST_TEST_MYSQL)
    &on_postgresql, &on_mysql
#elif defined(HOLDFAST_TEST_POSTGRESQL)
    &on_postgresql
#else
    &on_mysql
#endif
);

INSTANTIATE_TEST_SUITE_P(on, session_leases, all_servers, [](const auto& one) {
    return one.param == &on_postgresql ? "postgresql" : "mysql";
});

}  // namespace
}  // namespace holdfast::test
