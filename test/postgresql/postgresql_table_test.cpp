// SPDX-License-Identifier: Apache-2.0
//
// What is kept in the tables, and what other transactions do to them.
#include "postgresql/postgresql_ground.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace holdfast::test {
namespace {

class postgresql_tables : public testing::Test {
protected:
    postgres_server& server = shared_postgres();
    postgresql_store one{options_at(server.port())};
    postgresql_store two{options_at(server.port())};
};

// A server's time of day that is set back looks the same: fences ahead of the clock.
TEST_F(postgresql_tables, a_fence_never_goes_back_also_when_the_clock_does) {
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

// A server looks for a deadlock once in each wait, a second after it began. So ours must be the
// last of the two waits: the trigger holds our second statement until the other program waits for
// what our first one locked. The other looks after a minute only, so it is we who lose.
TEST_F(postgresql_tables, a_deadlock_with_another_program_is_survived) {
    server.sql("CREATE DATABASE deadlock");
    auto options = options_at(server.port(), "deadlock");
    options.statement_timeout = 60s;
    postgresql_store ours(options);
    const owner_token a = new_owner();
    ASSERT_TRUE(is_granted(ours.acquire(name_of("dead a"), a)));
    ASSERT_TRUE(is_granted(ours.acquire(name_of("dead b"), a)));
    server.sql(
        "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF pg_current_xact_id_if_assigned() IS NULL THEN RETURN NULL; END IF; "
        "PERFORM pg_advisory_xact_lock(77); "
        "WHILE EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 78) "
        "AND NOT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted AND "
        "locktype = 'transactionid' AND transactionid = pg_current_xact_id()::xid) LOOP "
        "PERFORM pg_sleep(0.02); END LOOP; RETURN NULL; END $$; "
        "CREATE TRIGGER hold BEFORE UPDATE ON holdfast_names EXECUTE FUNCTION hold()",
        "deadlock");
    const std::jthread other([&] {
        server.sql(
            "SET deadlock_timeout = '60s'; DO $$ BEGIN "
            "PERFORM 1 FROM holdfast_names WHERE name = 'dead b' FOR UPDATE; "
            "PERFORM pg_advisory_xact_lock(78); "
            "WHILE NOT EXISTS (SELECT 1 FROM pg_locks "
            "WHERE locktype = 'advisory' AND objid = 77) LOOP PERFORM pg_sleep(0.02); END LOOP; "
            "PERFORM 1 FROM holdfast_names WHERE name = 'dead a' FOR UPDATE; END $$",
            "deadlock");
    });
    const auto has_begun = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 78";
    wait_for("the other's lock", [&] { return !server.sql(has_begun).empty(); }, 30s);
    const std::vector<lease_request> both{ask::renew{name_of("dead a"), a, {}, 30s},
                                          ask::renew{name_of("dead b"), a, {}, 30s}};
    std::vector<result<lease_reply>> replies(2);
    const auto deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = 'deadlock'";
    const auto before = server.sql(deadlocks);
    ours->exchange(both, replies, system_clock().now() + 60s);
    EXPECT_TRUE(replies[0]) << replies[0].error().detail;
    EXPECT_TRUE(replies[1]) << replies[1].error().detail;
    wait_for("a deadlock", [&] { return server.sql(deadlocks) != before; }, 30s);
}

TEST_F(postgresql_tables, batches_of_the_same_names_in_any_order_do_not_wait_for_each_other) {
    constexpr int names = 20;
    constexpr int rounds = 20;
    const auto batches = [&](postgresql_store& on, bool backwards) {
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
            for (const auto& one_reply : replies) EXPECT_TRUE(one_reply);
            on->exchange(leave, replies, system_clock().now() + 10s);
            for (const auto& one_reply : replies) EXPECT_TRUE(one_reply);
        }
    };
    const auto before = server.sql(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = "
        "'postgres'");
    {
        const std::jthread forwards([&] { batches(one, false); });
        const std::jthread backwards([&] { batches(two, true); });
    }
    EXPECT_EQ(before, server.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = "
                                 "'postgres'"));
}

TEST_F(postgresql_tables, tables_that_were_dropped_are_made_anew) {
    server.sql("CREATE DATABASE dropped");
    postgresql_store on(options_at(server.port(), "dropped"));
    const owner_token a = new_owner();
    ASSERT_TRUE(is_granted(on.acquire(name_of("x"), a)));
    server.sql(
        "DROP TABLE holdfast_names, holdfast_parties, holdfast_clients, holdfast_notes, "
        "holdfast_meta",
        "dropped");
    wait_for("new tables", [&] { return is_granted(on.acquire(name_of("x"), new_owner())); });
}

TEST_F(postgresql_tables, two_that_come_first_at_once_make_one_set_of_tables) {
    server.sql("CREATE DATABASE firsts");
    std::vector<std::jthread> all;
    for (int i = 0; i < 4; ++i) {
        all.emplace_back([&, i] {
            postgresql_store on(options_at(server.port(), "firsts"));
            const auto held = on.acquire(name_of("first " + std::to_string(i)), new_owner());
            EXPECT_TRUE(is_granted(held)) << (held ? "" : held.error().detail);
        });
    }
    all.clear();
    EXPECT_EQ(server.sql("SELECT count(*) FROM holdfast_names", "firsts").front(), "4");
}

TEST_F(postgresql_tables, a_schema_of_its_own_keeps_its_names_apart) {
    server.sql("CREATE SCHEMA \"se parate\"");
    auto options = options_at(server.port());
    options.schema = "se parate";
    postgresql_store apart(options);
    ASSERT_TRUE(is_granted(one.acquire(name_of("same"), new_owner())));
    EXPECT_TRUE(is_granted(apart.acquire(name_of("same"), new_owner())));
}

// As docs/guide/postgresql.md says it.
TEST_F(postgresql_tables, a_late_holders_transaction_is_refused_by_its_fence) {
    server.sql("CREATE TABLE guard (name TEXT PRIMARY KEY, fence BIGINT NOT NULL)");
    const auto enter = [&](std::uint64_t fence) {
        return server
            .sql("INSERT INTO guard (name, fence) VALUES ('report', " + std::to_string(fence) +
                 ") ON CONFLICT (name) DO UPDATE SET fence = excluded.fence "
                 "WHERE guard.fence <= excluded.fence RETURNING fence")
            .size();
    };
    const owner_token a = new_owner();
    const auto first = one.acquire(name_of("report"), a, ask::when_busy::refuse, 10ms);
    ASSERT_TRUE(is_granted(first));
    result<lease_reply> second;
    wait_for("the end of the first lease", [&] {
        second = two.acquire(name_of("report"), new_owner());
        return is_granted(second);
    });
    EXPECT_EQ(enter(fence_of(second)), 1U);
    EXPECT_EQ(enter(fence_of(first)), 0U);
    EXPECT_EQ(enter(fence_of(second)), 1U) << "a holder may write more than once";
}

// A database whose default is stricter than we need.
TEST_F(postgresql_tables, the_databases_own_isolation_level_does_not_matter) {
    server.sql("CREATE DATABASE strict");
    server.sql("ALTER DATABASE strict SET default_transaction_isolation = 'serializable'");
    std::vector<std::jthread> all;
    std::atomic<int> held = 0;
    std::atomic<int> most = 0;
    for (int i = 0; i < 4; ++i) {
        all.emplace_back([&] {
            auto on = open(server.url("strict")).value();
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
}

}  // namespace
}  // namespace holdfast::test
