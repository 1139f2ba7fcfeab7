// SPDX-License-Identifier: Apache-2.0
//
// What is kept in the tables, and what other transactions do to them.
#include "mysql/mysql_ground.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace holdfast::test {
namespace {

class mysql_tables : public testing::Test {
protected:
    mariadb_server& server = shared_mariadb();
    mysql_store one{options_at(server.port())};
    mysql_store two{options_at(server.port())};
};

// A server's time of day that is set back looks the same: fences ahead of the clock.
TEST_F(mysql_tables, a_fence_never_goes_back_also_when_the_clock_does) {
    const lock_name job = name_of("clock");
    const owner_token a = new_owner();
    ASSERT_TRUE(is_granted(one.acquire(job, a)));
    server.sql("UPDATE holdfast_names SET top = top + 3600000000 WHERE name = 'clock'");
    ASSERT_TRUE(one.release(job, a));
    const auto ahead =
        std::stoull(server.sql("SELECT top FROM holdfast_names WHERE name = 'clock'").front());

    const owner_token b = new_owner();
    const auto kept = one.acquire(job, b);
    ASSERT_TRUE(is_granted(kept));
    EXPECT_GT(fence_of(kept), ahead);
    ASSERT_TRUE(one.release(job, b));

    ASSERT_TRUE(one->sweep_all(system_clock().now() + 5s));
    EXPECT_FALSE(server.sql("SELECT name FROM holdfast_names WHERE name = 'clock'").empty())
        << "what is ahead of the clock stays until the clock has passed it";
    const auto swept = one.acquire(job, new_owner());
    ASSERT_TRUE(is_granted(swept));
    EXPECT_GT(fence_of(swept), fence_of(kept));
}

// InnoDB ends the transaction that has changed the least, and the other program has changed many
// rows: so it is we who lose.
TEST_F(mysql_tables, a_deadlock_with_another_program_is_survived) {
    server.sql(
        "CREATE TABLE heavy (n INT); INSERT INTO heavy VALUES (1),(2),(3),(4),(5),(6),(7),(8)");
    const owner_token a = new_owner();
    ASSERT_TRUE(is_granted(one.acquire(name_of("dead a"), a)));
    ASSERT_TRUE(is_granted(one.acquire(name_of("dead b"), a)));
    // It takes the names in the other order: the second when we wait for its first.
    const std::jthread other([&] {
        server.sql(
            "SET innodb_lock_wait_timeout = 60; BEGIN; UPDATE heavy SET n = n + 1; "
            "SELECT 1 FROM holdfast_names WHERE name = 'dead b' FOR UPDATE; "
            "DO GET_LOCK('the other has begun', 0); "
            "BEGIN NOT ATOMIC WHILE NOT EXISTS (SELECT 1 FROM information_schema.INNODB_TRX "
            "WHERE trx_state = 'LOCK WAIT') DO DO SLEEP(0.2); END WHILE; END; "
            "SELECT 1 FROM holdfast_names WHERE name = 'dead a' FOR UPDATE; COMMIT");
    });
    wait_for("the other's lock", [&] {
        return server.sql("SELECT IS_USED_LOCK('the other has begun')").front() != "NULL";
    });
    const auto deadlocks =
        "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS "
        "WHERE VARIABLE_NAME = 'innodb_deadlocks'";
    const auto before = server.sql(deadlocks);
    const std::vector<lease_request> both{ask::renew{name_of("dead a"), a, {}, 30s},
                                          ask::renew{name_of("dead b"), a, {}, 30s}};
    std::vector<result<lease_reply>> replies(2);
    one->exchange(both, replies, system_clock().now() + 20s);
    EXPECT_TRUE(replies[0]) << replies[0].error().detail;
    EXPECT_TRUE(replies[1]) << replies[1].error().detail;
    EXPECT_NE(before, server.sql(deadlocks));
}

TEST_F(mysql_tables, batches_of_the_same_names_in_any_order_are_all_answered) {
    constexpr int names = 20;
    constexpr int rounds = 10;
    const auto batches = [&](mysql_store& on, bool backwards) {
        for (int round = 0; round < rounds; ++round) {
            const owner_token owner = new_owner();
            std::vector<lease_request> take;
            std::vector<lease_request> leave;
            for (int i = 0; i < names; ++i) {
                const int which = backwards ? names - 1 - i : i;
                const lock_name name = name_of("batch " + std::to_string(which));
                take.push_back(ask::acquire{name, owner, {}, 30s, ask::when_busy::refuse, {}, 0});
                leave.push_back(ask::leave{name, owner, {}});
            }
            std::vector<result<lease_reply>> replies(names);
            on->exchange(take, replies, system_clock().now() + 10s);
            for (const auto& reply : replies) EXPECT_TRUE(reply) << reply.error().detail;
            on->exchange(leave, replies, system_clock().now() + 10s);
            for (const auto& reply : replies) EXPECT_TRUE(reply) << reply.error().detail;
        }
    };
    const std::jthread forwards([&] { batches(one, false); });
    const std::jthread backwards([&] { batches(two, true); });
}

TEST_F(mysql_tables, names_differ_in_case_and_in_spaces_at_their_end) {
    ASSERT_TRUE(is_granted(one.acquire(name_of("same"), new_owner())));
    EXPECT_TRUE(is_granted(one.acquire(name_of("Same"), new_owner())));
    EXPECT_TRUE(is_granted(one.acquire(name_of("same "), new_owner())));
    EXPECT_TRUE(is_granted(one.acquire(name_of("s\u00e4me' OR 1 = 1 -- \\"), new_owner())));
    EXPECT_TRUE(is_busy(one.acquire(name_of("same"), new_owner())));
}

TEST_F(mysql_tables, tables_that_were_dropped_are_made_anew) {
    server.sql("CREATE DATABASE dropped");
    mysql_store on(options_at(server.port(), "dropped"));
    ASSERT_TRUE(is_granted(on.acquire(name_of("x"), new_owner())));
    server.sql(
        "DROP TABLE holdfast_names, holdfast_parties, holdfast_clients, holdfast_notes, "
        "holdfast_handoffs, holdfast_meta",
        "dropped");
    wait_for("new tables", [&] { return is_granted(on.acquire(name_of("x"), new_owner())); });
}

TEST_F(mysql_tables, two_that_come_first_at_once_make_one_set_of_tables) {
    server.sql("CREATE DATABASE firsts CHARACTER SET latin1");
    std::vector<std::jthread> all;
    for (int i = 0; i < 4; ++i) {
        all.emplace_back([&, i] {
            mysql_store on(options_at(server.port(), "firsts"));
            const auto held = on.acquire(name_of("first " + std::to_string(i)), new_owner());
            EXPECT_TRUE(is_granted(held)) << (held ? "" : held.error().detail);
        });
    }
    all.clear();
    EXPECT_EQ(server.sql("SELECT count(*) FROM holdfast_names", "firsts").front(), "4");
    EXPECT_EQ(server.sql("SELECT count(*) FROM holdfast_meta", "firsts").front(), "1");
}

// As docs/guide/mysql.md says it.
TEST_F(mysql_tables, a_late_holders_transaction_is_refused_by_its_fence) {
    server.sql(
        "CREATE TABLE guard (name VARCHAR(200) PRIMARY KEY, fence BIGINT NOT NULL); "
        "CREATE TABLE totals (name VARCHAR(200) PRIMARY KEY, total INT NOT NULL); "
        "INSERT INTO totals VALUES ('report', 0)");
    const auto write = [&](std::uint64_t fence, int total) {
        const std::string number = std::to_string(fence);
        server.sql("BEGIN; INSERT INTO guard (name, fence) VALUES ('report', " + number +
                   ") ON DUPLICATE KEY UPDATE fence = GREATEST(fence, VALUES(fence)); "
                   "UPDATE totals JOIN guard USING (name) SET total = " +
                   std::to_string(total) + " WHERE name = 'report' AND guard.fence = " + number +
                   "; COMMIT");
        return server.sql("SELECT total FROM totals").front();
    };
    const auto first = one.acquire(name_of("report"), new_owner(), ask::when_busy::refuse, 10ms);
    ASSERT_TRUE(is_granted(first));
    result<lease_reply> second;
    wait_for("the end of the first lease", [&] {
        second = two.acquire(name_of("report"), new_owner());
        return is_granted(second);
    });
    EXPECT_EQ(write(fence_of(second), 2), "2");
    EXPECT_EQ(write(fence_of(first), 1), "2") << "a late holder wrote";
    EXPECT_EQ(write(fence_of(second), 3), "3") << "a holder may write more than once";
}

// Settings of a server that are stricter or looser than what we need, and a clock elsewhere.
TEST(mysql_servers, its_own_settings_do_not_matter) {
    mariadb_server server(
        {.settings = {"transaction-isolation=SERIALIZABLE", "autocommit=0",
                      "default-time-zone=-11:00", "log-bin",
                      "sql-mode=ANSI_QUOTES,NO_BACKSLASH_ESCAPES", "character-set-server=latin1"}});
    std::vector<std::jthread> all;
    std::atomic<int> held = 0;
    std::atomic<int> most = 0;
    for (int i = 0; i < 4; ++i) {
        all.emplace_back([&] {
            auto on = open(server.url()).value();
            for (int round = 0; round < 10; ++round) {
                auto mine = on.mutex("strict").acquire({.wait = 30s});
                ASSERT_TRUE(mine) << mine.error().detail;
                most = std::max<int>(most, ++held);
                --held;
                EXPECT_TRUE(std::move(*mine).release());
            }
        });
    }
    all.clear();
    EXPECT_EQ(most, 1);
    mysql_store one(options_at(server.port()));
    const auto now = one->time_of_day(system_clock().now() + 5s);
    ASSERT_TRUE(now) << now.error().detail;
    // style: allow clock, because it is the time of day that is compared
    const auto apart = *now - std::chrono::system_clock::now();
    EXPECT_LT(std::max(apart, -apart), 60s) << "the server's time zone was mistaken for its time";
}

}  // namespace
}  // namespace holdfast::test
