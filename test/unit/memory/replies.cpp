// SPDX-License-Identifier: Apache-2.0
//
// Replies and error texts that were taken from Redis 7.0.15. The differential test compares many
// more; these are the ones that programs lean on, checked without a server.
#include "engine_fixture.hpp"

namespace holdfast::memory_test {
namespace {

class replies : public engine_test {};

TEST_F(replies, set_if_absent_takes_a_free_key_and_refuses_a_taken_one) {
    EXPECT_EQ(say("SET", "k", "a", "NX", "PX", "30000"), "OK");
    EXPECT_EQ(say("SET", "k", "b", "NX", "PX", "30000"), "(nil)");
    EXPECT_EQ(say("GET", "k"), R"("a")");
    EXPECT_EQ(say("SET", "k", "c", "XX", "GET"), R"("a")");
}

TEST_F(replies, a_command_with_wrong_words_says_what_redis_says) {
    EXPECT_EQ(say("GET"), "(error) ERR wrong number of arguments for 'get' command");
    EXPECT_EQ(say("FOO", "a", "b"),
              "(error) ERR unknown command 'FOO', with args beginning with: 'a' 'b' ");
    EXPECT_EQ(say("SET", "k", "v", "NX", "XX"), "(error) ERR syntax error");
    EXPECT_EQ(say("SET", "k", "v", "PX", "0"), "(error) ERR invalid expire time in 'set' command");
    EXPECT_EQ(say("INCRBY", "k", "x"), "(error) ERR value is not an integer or out of range");
}

TEST_F(replies, an_expiry_may_be_said_twice_in_one_unit_and_the_last_counts) {
    EXPECT_EQ(say("SET", "k", "v", "PX", "GET", "PX", "5000"), "OK");
    EXPECT_EQ(say("PTTL", "k"), "(integer) 5000");
    EXPECT_EQ(say("GETEX", "k", "EX", "100", "EX", "200"), R"("v")");
    EXPECT_EQ(say("TTL", "k"), "(integer) 200");
    EXPECT_EQ(say("SET", "k", "v", "PX", "1", "EX", "1"), "(error) ERR syntax error");
}

TEST_F(replies, the_empty_key_is_met_by_a_star_but_by_no_other_pattern) {
    ask("SET", "", "v");
    EXPECT_EQ(say("KEYS", "*"), R"([""])");
    EXPECT_EQ(say("KEYS", "**"), "[]");
}

TEST_F(replies, a_key_of_another_type_is_refused_and_left_alone) {
    ask("RPUSH", "list", "a");
    EXPECT_EQ(say("GET", "list"),
              "(error) WRONGTYPE Operation against a key holding the wrong kind of value");
    EXPECT_EQ(say("HSET", "list", "f", "v"),
              "(error) WRONGTYPE Operation against a key holding the wrong kind of value");
    EXPECT_EQ(say("LRANGE", "list", "0", "-1"), R"(["a"])");
}

TEST_F(replies, counters_stop_at_the_ends_of_64_bits) {
    ask("SET", "n", "9223372036854775807");
    EXPECT_EQ(say("INCR", "n"), "(error) ERR increment or decrement would overflow");
    EXPECT_EQ(say("INCRBYFLOAT", "f", "0.1"), R"("0.1")");
    EXPECT_EQ(say("INCRBYFLOAT", "f", "0.2"), R"("0.3")");
}

TEST_F(replies, a_hash_answers_its_fields_in_the_order_they_came) {
    EXPECT_EQ(say("HSET", "h", "b", "1", "a", "2"), "(integer) 2");
    EXPECT_EQ(say("HSET", "h", "b", "3", "c", "4"), "(integer) 1");
    EXPECT_EQ(say("HGETALL", "h"), R"(["b", "3", "a", "2", "c", "4"])");
}

TEST_F(replies, the_last_element_takes_its_key_with_it) {
    ask("RPUSH", "l", "a");
    ask("LPOP", "l");
    ask("SADD", "s", "a");
    ask("SREM", "s", "a");
    ask("ZADD", "z", "1", "a");
    ask("ZREM", "z", "a");
    ask("HSET", "h", "a", "1");
    ask("HDEL", "h", "a");
    EXPECT_EQ(say("DBSIZE"), "(integer) 0");
}

TEST_F(replies, a_sorted_set_orders_by_score_and_then_by_bytes) {
    ask("ZADD", "z", "2", "b", "1", "c", "2", "a");
    EXPECT_EQ(say("ZRANGE", "z", "0", "-1", "WITHSCORES"), R"(["c", "1", "a", "2", "b", "2"])");
    EXPECT_EQ(say("ZREVRANK", "z", "c"), "(integer) 2");
    EXPECT_EQ(say("ZRANGE", "z", "(1", "+inf", "BYSCORE", "LIMIT", "1", "5"), R"(["b"])");
    EXPECT_EQ(say("ZADD", "z", "GT", "CH", "1", "a"), "(integer) 0");
    EXPECT_EQ(say("ZINCRBY", "z", "0.1", "a"), R"("2.1000000000000001")");
}

TEST_F(replies, a_pop_counts_what_is_there) {
    ask("RPUSH", "l", "a", "b", "c");
    EXPECT_EQ(say("LPOP", "l", "0"), "[]");
    EXPECT_EQ(say("RPOP", "l", "2"), R"(["c", "b"])");
    EXPECT_EQ(say("LPOP", "l", "9"), R"(["a"])");
    EXPECT_EQ(say("LPOP", "l", "9"), "(nil)");
}

TEST_F(replies, a_blocking_pop_outside_a_session_does_not_wait) {
    EXPECT_EQ(say("BLPOP", "nothing", "0"), "(nil)");
}

TEST_F(replies, commands_of_one_exchange_are_one_connection) {
    const auto multi = words("MULTI");
    const auto incr = words("INCR", "n");
    const auto exec = words("EXEC");
    const command list[] = {multi, incr, incr, exec};
    result<reply> answers[4];
    engine->exchange(list, answers, no_limit);
    EXPECT_EQ(shown(*answers[1]), "QUEUED");
    EXPECT_EQ(shown(*answers[3]), "[(integer) 1, (integer) 2]");
}

TEST_F(replies, a_transaction_with_a_refused_command_does_nothing) {
    const auto good = words("SET", "k", "v");
    const auto bad = words("GET");
    const command list[] = {good, bad};
    EXPECT_EQ(shown(*engine->transaction(list, no_limit)),
              "(error) EXECABORT Transaction discarded because of previous errors.");
    EXPECT_EQ(say("EXISTS", "k"), "(integer) 0");
}

TEST_F(replies, a_doctor_learns_role_and_policy) {
    EXPECT_EQ(say("ROLE"), R"(["master", (integer) 0, []])");
    EXPECT_EQ(say("CONFIG", "GET", "maxmemory-policy"), R"(["maxmemory-policy", "noeviction"])");
    ask("SET", "k", "v", "EX", "5");
    EXPECT_NE(ask("INFO", "keyspace").text().find("db0:keys=1,expires=1"), std::string::npos);
    EXPECT_NE(ask("INFO").text().find("run_id:"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::memory_test
