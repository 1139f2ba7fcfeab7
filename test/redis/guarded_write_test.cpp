// SPDX-License-Identifier: Apache-2.0
//
// Writes that refuse an older fence: on Redis, on the embedded engine, and in SQL on SQLite.
#include "engine/memory/memory_engine.hpp"
#include "support/child_process.hpp"
#include "support/redis_server.hpp"

#include <holdfast/guarded_write.hpp>
#include <holdfast/redis.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

class guarded_write : public testing::TestWithParam<std::string> {
protected:
    std::shared_ptr<command_engine> make() {
        if (GetParam() == "memory") return make_memory_engine();
        server = std::make_unique<test::redis_server>();
        return open_redis(server->url()).value();
    }
    guarded_outcome write(std::uint64_t fence, std::string_view value,
                          const guarded_set_options& options = {}) {
        return guarded_set(*engine, "row", value, {fence}, engine->time().now() + 5s, options)
            .value();
    }
    reply ask(const command& c) { return engine->execute(c, engine->time().now() + 5s).value(); }

    std::unique_ptr<test::redis_server> server;
    std::shared_ptr<command_engine> engine = make();
};

TEST_P(guarded_write, refuses_a_fence_older_than_the_largest_and_says_which_that_is) {
    EXPECT_TRUE(write(1763242522000001, "first").written);
    EXPECT_TRUE(write(1763242522000007, "second").written);
    const auto late = write(1763242522000001, "late");
    EXPECT_FALSE(late.written);
    EXPECT_EQ(late.highest, fencing_token{1763242522000007});
    EXPECT_EQ(ask(words("GET", "row")).text(), "second");
}

TEST_P(guarded_write, lets_one_holder_write_more_than_once) {
    EXPECT_TRUE(write(1763242522000001, "draft").written);
    EXPECT_EQ(write(1763242522000001, "final").highest, fencing_token{1763242522000001});
    EXPECT_EQ(ask(words("GET", "row")).text(), "final");
}

TEST_P(guarded_write, keeps_value_and_fence_as_long_as_it_was_told) {
    EXPECT_TRUE(write(1763242522000001, "x", {.ttl = 1h, .remembered = 2h}).written);
    EXPECT_NEAR(static_cast<double>(ask(words("PTTL", "row")).number()), 3600e3, 60e3);
    EXPECT_NEAR(static_cast<double>(ask(words("PTTL", "{row}:fence")).number()), 7200e3, 60e3);
    EXPECT_TRUE(write(1763242522000001, "y").written);
    EXPECT_EQ(ask(words("PTTL", "row")).number(), -1) << "no ttl was asked for";
}

TEST_P(guarded_write, refuses_what_is_no_fence_and_no_time) {
    const auto bad = [&](std::string_view key, std::uint64_t fence, duration ttl) {
        const auto got = guarded_set(*engine, key, "v", {fence}, engine->time().now() + 5s,
                                     {.ttl = ttl, .remembered = 1h});
        return !got && got.error() == errc::invalid_argument;
    };
    EXPECT_TRUE(bad("", 1, 0s));
    EXPECT_TRUE(bad("row", 0, 0s));
    EXPECT_TRUE(bad("row", std::uint64_t{1} << 53, 0s));
    EXPECT_TRUE(bad("row", 1, -1s));
    EXPECT_TRUE(bad("row", 1, 1us));
}

INSTANTIATE_TEST_SUITE_P(on, guarded_write, testing::Values("memory", "redis"),
                         [](const auto& param) { return param.param; });

TEST(guarded_sql, is_a_statement_with_the_parameters_in_the_told_order) {
    const std::array<std::string_view, 2> columns{"state", "payer"};
    EXPECT_EQ(guarded_update_sql({.name = "orders"}, columns).value(),
              "UPDATE orders SET state = ?, payer = ?, fence = ? WHERE id = ? AND fence <= ?");
    const guarded_table postgres{.name = "shop.orders",
                                 .key_column = "number",
                                 .fence_column = "seen",
                                 .parameters = sql_parameters::dollars};
    EXPECT_EQ(guarded_update_sql(postgres, columns).value(),
              "UPDATE shop.orders SET state = $1, payer = $2, seen = $3 "
              "WHERE number = $4 AND seen <= $3");
    EXPECT_EQ(highest_fence_sql(postgres).value(),
              "SELECT seen FROM shop.orders WHERE number = $1");
}

TEST(guarded_sql, takes_only_plain_names) {
    for (const auto* name : {"", "orders; DROP TABLE x", "a b", "a\"b", "1st", "naïve"}) {
        const auto got = guarded_update_sql({.name = name}, {});
        ASSERT_FALSE(got) << name;
        EXPECT_EQ(got.error(), errc::invalid_argument);
    }
    const std::array<std::string_view, 1> column{"state = 'x', state"};
    EXPECT_FALSE(guarded_update_sql({.name = "orders"}, column));
}

TEST(guarded_sql, refuses_an_older_fence_in_a_real_database) {
    const std::array<std::string_view, 1> columns{"state"};
    const guarded_table table{.name = "orders"};
    const std::string code =
        "import sqlite3, sys\n"
        "d = sqlite3.connect(':memory:')\n"
        "d.execute('CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT,"
        " fence BIGINT NOT NULL DEFAULT 0)')\n"
        "d.execute(\"INSERT INTO orders VALUES (42, 'new', 0)\")\n"
        "update, highest = sys.argv[1:]\n"
        "def write(state, fence):\n"
        "    return d.execute(update, (state, fence, 42, fence)).rowcount\n"
        "assert write('paid', 7) == 1\n"
        "assert write('late', 6) == 0\n"
        "assert write('sent', 7) == 1\n"
        "assert d.execute(highest, (42,)).fetchone() == (7,)\n"
        "assert d.execute('SELECT state FROM orders').fetchone() == ('sent',)\n";
    test::child_process python(
        {.argv = {"/usr/bin/python3", "-c", code, guarded_update_sql(table, columns).value(),
                  highest_fence_sql(table).value()}});
    EXPECT_EQ(python.wait(20s), 0) << python.log_tail();
}

}  // namespace
}  // namespace holdfast
