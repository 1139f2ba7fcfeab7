// SPDX-License-Identifier: Apache-2.0
//
// A differential test is worth what its sequences reach: every command that the embedded engine
// speaks must both succeed and be refused in them, and most replies must not be errors.
#include "differential/sequence_grammar.hpp"
#include "differential/target.hpp"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

namespace holdfast::test {
namespace {

constexpr const char* spoken =
    "SET GET GETDEL GETEX GETSET SETNX SETEX PSETEX MGET MSET MSETNX APPEND STRLEN INCR DECR "
    "INCRBY "
    "DECRBY INCRBYFLOAT SETRANGE GETRANGE SETBIT GETBIT BITCOUNT DEL UNLINK EXISTS EXPIRE PEXPIRE "
    "EXPIREAT PEXPIREAT PERSIST TYPE SCAN RENAME KEYS TOUCH HSET HSETNX HGET HMGET HMSET HGETALL "
    "HDEL HEXISTS HLEN HKEYS HVALS HINCRBY HINCRBYFLOAT HSTRLEN HSCAN LPUSH RPUSH LPUSHX RPUSHX "
    "LPOP RPOP LLEN LRANGE LINDEX LSET LREM LTRIM LINSERT LPOS LMOVE RPOPLPUSH BLPOP BRPOP SADD "
    "SREM SMEMBERS SISMEMBER SMISMEMBER SCARD SPOP SRANDMEMBER SMOVE SINTER SUNION SDIFF SSCAN "
    "ZADD ZREM ZSCORE ZMSCORE ZCARD ZCOUNT ZINCRBY ZRANK ZREVRANK ZRANGE ZREVRANGE ZRANGEBYSCORE "
    "ZREVRANGEBYSCORE ZREMRANGEBYSCORE ZREMRANGEBYRANK ZPOPMIN ZPOPMAX ZSCAN PUBLISH EVAL EVALSHA "
    "XADD XLEN XRANGE XREVRANGE XDEL XTRIM XSETID XREAD XREADGROUP XGROUP XACK XPENDING XCLAIM "
    "XAUTOCLAIM XINFO ECHO PING TTL PTTL MULTI EXEC DISCARD WATCH";

struct outcomes {
    int fine = 0;
    int errors = 0;
};

std::map<std::string, outcomes> play_alone(std::uint64_t seeds) {
    redis_target server;
    std::map<std::string, outcomes> seen;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        server.start_over();
        for (const operation& step : draw_sequence(seed, 2000)) {
            if (step.what != operation::kind::command) continue;
            const reply answer = server.run(step.session, {&step, 1}).front();
            auto& count = seen[command_name(step.args)];
            ++(answer.is_error() ? count.errors : count.fine);
        }
    }
    return seen;
}

TEST(differential_grammar, makes_every_command_succeed_and_makes_it_fail) {
    auto seen = play_alone(25);
    std::istringstream names(spoken);
    for (std::string name; names >> name;) {
        EXPECT_GT(seen[name].fine, 0) << name;
        EXPECT_GT(seen[name].errors, 0) << name;
    }
}

TEST(differential_grammar, is_refused_less_often_than_it_is_served) {
    outcomes all;
    for (const auto& [name, count] : play_alone(10)) {
        all.fine += count.fine;
        all.errors += count.errors;
    }
    RecordProperty("errors_in_1000", 1000 * all.errors / (all.errors + all.fine));
    EXPECT_LT(all.errors * 5, (all.errors + all.fine) * 2) << "more than 40 % are errors";
}

TEST(differential_grammar, draws_the_same_sequence_for_the_same_seed) {
    const auto shown = [](std::uint64_t seed) {
        std::string text;
        for (const operation& step : draw_sequence(seed, 500)) text += to_string(step) + "\n";
        return text;
    };
    EXPECT_EQ(shown(7), shown(7));
    EXPECT_NE(shown(7), shown(8));
}

}  // namespace
}  // namespace holdfast::test
