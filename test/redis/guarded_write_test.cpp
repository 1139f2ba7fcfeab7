// SPDX-License-Identifier: Apache-2.0
//
// Writes that refuse an older fence: on Redis, on the embedded engine, and in SQL on SQLite.
#include "driver/memory/memory_engine.hpp"
#include "support/child_process.hpp"
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"
#include "support/temporary_directory.hpp"
#include "support/wait_for.hpp"

#include <holdfast/guarded_write.hpp>
#include <holdfast/redis/redis.hpp>

#include <fmt/format.h>
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
    guarded_claim_outcome claim(std::uint64_t fence) {
        return guarded_claim(*engine, "row", {fence}, engine->time().now() + 5s).value();
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

TEST_P(guarded_write, a_claim_answers_the_value_and_refuses_earlier_holders_from_then_on) {
    EXPECT_EQ(claim(1763242522000001).value, std::nullopt) << "there is none yet";
    EXPECT_TRUE(write(1763242522000001, "first").written);
    const auto next = claim(1763242522000007);
    EXPECT_TRUE(next.claimed);
    EXPECT_EQ(next.highest, fencing_token{1763242522000007});
    EXPECT_EQ(next.value, "first");
    const auto late = write(1763242522000001, "late");
    EXPECT_FALSE(late.written);
    EXPECT_EQ(late.highest, fencing_token{1763242522000007});
    const auto too_late = claim(1763242522000001);
    EXPECT_FALSE(too_late.claimed);
    EXPECT_EQ(too_late.highest, fencing_token{1763242522000007});
    EXPECT_EQ(too_late.value, std::nullopt);
    EXPECT_TRUE(claim(1763242522000007).claimed) << "as often as it likes";
    EXPECT_TRUE(write(1763242522000007, "").written);
    EXPECT_EQ(claim(1763242522000007).value, "") << "an empty value is one";
}

TEST_P(guarded_write, a_claim_of_another_type_is_one_and_its_fence_is_remembered_as_told) {
    ask(words("HSET", "row", "state", "paid"));
    const auto outcome =
        guarded_claim(*engine, "row", {7}, engine->time().now() + 5s, {.remembered = 2h}).value();
    EXPECT_TRUE(outcome.claimed);
    EXPECT_EQ(outcome.value, std::nullopt);
    EXPECT_EQ(ask(words("HGET", "row", "state")).text(), "paid");
    EXPECT_NEAR(static_cast<double>(ask(words("PTTL", "{row}:fence")).number()), 7200e3, 60e3);
    const auto bad = [&](std::string_view key, std::uint64_t fence, duration remembered) {
        return guarded_claim(*engine, key, {fence}, engine->time().now() + 5s,
                             {.remembered = remembered})
            .error();
    };
    EXPECT_EQ(bad("", 1, 1h), errc::invalid_argument);
    EXPECT_EQ(bad("row", 0, 1h), errc::invalid_argument);
    EXPECT_EQ(bad("row", std::uint64_t{1} << 53, 1h), errc::invalid_argument);
    EXPECT_EQ(bad("row", 1, 0s), errc::invalid_argument);
}

/// Two holders that each read a number and write the next one, every way in which the late write of
/// the first may fall between the steps of the second. How many accepted writes were lost.
template <class Read, class Write>
int lost_updates(std::uint64_t& fence, const Read& read, const Write& write) {
    int lost = 0;
    for (int late_at = 0; late_at < 3; ++late_at) {
        const std::uint64_t first = ++fence;
        const std::uint64_t second = ++fence;
        const int before = read(first);
        int accepted = 0;
        if (late_at == 0 && write(first, before + 1)) ++accepted;
        const int seen = read(second);
        if (late_at == 1 && write(first, before + 1)) ++accepted;
        if (write(second, seen + 1)) ++accepted;
        if (late_at == 2 && write(first, before + 1)) ++accepted;
        lost += before + accepted - read(second);
    }
    return lost;
}

TEST_P(guarded_write, a_claim_before_the_read_loses_no_update_and_a_plain_read_does) {
    const auto number = [](const std::optional<std::string>& text) {
        return text ? std::stoi(*text) : 0;
    };
    const auto add = [&](std::uint64_t fence, int value) {
        return write(fence, std::to_string(value)).written;
    };
    const auto plainly = [&](std::uint64_t) { return std::stoi(ask(words("GET", "row")).text()); };
    const auto claiming = [&](std::uint64_t fence) { return number(claim(fence).value); };
    std::uint64_t fence = 1763242522000000;
    EXPECT_EQ(lost_updates(fence, claiming, add), 0);
    EXPECT_EQ(lost_updates(fence, plainly, add), 1)
        << "what the claim is for: if this loses nothing, the test tests nothing";
}

INSTANTIATE_TEST_SUITE_P(on, guarded_write, testing::Values("memory", "redis"),
                         [](const auto& param) { return param.param; });

// By a user that may not end its old connection at the server: so what is held back does arrive.
TEST(guarded_write_late, does_not_undo_a_later_write_of_the_same_holder) {
    test::redis_server server;
    server.raw("ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all", "-client");
    test::fault_proxy proxy(server.port());
    const auto engine =
        open_redis(fmt::format("redis://app:secret@127.0.0.1:{}?reply_timeout=100ms", proxy.port()))
            .value();
    const auto write = [&](std::string_view value) {
        return guarded_set(*engine, "row", value, {1763242522000001}, engine->time().now() + 5s)
            .value()
            .written;
    };
    ASSERT_TRUE(write("warm"));
    proxy.stall_requests();
    EXPECT_TRUE(write("old")) << "by a second connection";
    EXPECT_TRUE(write("new"));
    ASSERT_EQ(proxy.open(), 2U);
    proxy.pass();
    test::wait_for("the first connection's end", [&] { return proxy.open() == 1; });
    EXPECT_EQ(server.raw("GET", "row").text(), "new");
}

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
    EXPECT_EQ(guarded_claim_sql({.name = "orders"}).value(),
              "UPDATE orders SET fence = ? WHERE id = ? AND fence <= ?");
    EXPECT_EQ(guarded_claim_sql(postgres).value(),
              "UPDATE shop.orders SET seen = $1 WHERE number = $2 AND seen <= $1");
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

// The same interleavings as on Redis, by the statements on two connections of a real database.
TEST(guarded_sql, a_claim_before_the_read_loses_no_update_and_a_plain_read_does) {
    const std::array<std::string_view, 1> columns{"total"};
    const guarded_table table{.name = "orders"};
    const test::temporary_directory folder;
    const std::string code =
        "import sqlite3, sys\n"
        "file, update, claim = sys.argv[1:]\n"
        "one, two = (sqlite3.connect(file, isolation_level=None) for _ in range(2))\n"
        "one.execute('CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER,"
        " fence BIGINT NOT NULL DEFAULT 0)')\n"
        "one.execute('INSERT INTO orders VALUES (42, 0, 0)')\n"
        "def read(db, fence, claims):\n"
        "    if claims: assert db.execute(claim, (fence, 42, fence)).rowcount == 1\n"
        "    return db.execute('SELECT total FROM orders').fetchone()[0]\n"
        "def write(db, fence, total):\n"
        "    return db.execute(update, (total, fence, 42, fence)).rowcount\n"
        "def lost(claims, fence):\n"
        "    gone = 0\n"
        "    for late_at in range(3):\n"
        "        first, second = fence + 2 * late_at + 1, fence + 2 * late_at + 2\n"
        "        before = read(one, first, claims)\n"
        "        done = write(one, first, before + 1) if late_at == 0 else 0\n"
        "        seen = read(two, second, claims)\n"
        "        if late_at == 1: done += write(one, first, before + 1)\n"
        "        done += write(two, second, seen + 1)\n"
        "        if late_at == 2: done += write(one, first, before + 1)\n"
        "        gone += before + done - read(two, second, claims)\n"
        "    return gone\n"
        "assert lost(True, 0) == 0\n"
        "assert lost(False, 100) == 1\n";
    test::child_process python(
        {.argv = {"/usr/bin/python3", "-c", code, (folder.path() / "orders.db").string(),
                  guarded_update_sql(table, columns).value(), guarded_claim_sql(table).value()}});
    EXPECT_EQ(python.wait(20s), 0) << python.log_tail();
}

}  // namespace
}  // namespace holdfast
