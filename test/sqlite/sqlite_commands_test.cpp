// SPDX-License-Identifier: Apache-2.0
//
// Commands on keys in a file; what traffic control does on it is asked in test/traffic.
#include "driver/sqlite/sqlite_commands.hpp"
#include "sqlite/store_on_file.hpp"
#include "support/run_sql.hpp"
#include "support/wait_for.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/virtual_clock.hpp>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <vector>

namespace holdfast::test {
namespace {

using testing::HasSubstr;

class sqlite_keys : public on_file {
protected:
    std::shared_ptr<command_engine> engine() {
        return sqlite::make_sqlite_commands({.path = path()}, system_clock(), system_entropy());
    }
    template <class... Words>
    static result<reply> run(command_engine& on, const Words&... list) {
        return on.execute(words(list...), system_clock().now() + 5s);
    }
    std::shared_ptr<command_engine> one = engine();
    std::shared_ptr<command_engine> two = engine();
};

TEST_F(sqlite_keys, every_type_of_value_is_seen_by_the_other_processes) {
    ASSERT_TRUE(run(*one, "SET", "text", std::string_view("a\0b", 3)));
    ASSERT_TRUE(run(*one, "HSET", "hash", "f", "1", "g", "2"));
    ASSERT_TRUE(run(*one, "RPUSH", "list", "x", "y", "x"));
    ASSERT_TRUE(run(*one, "SADD", "set", "m"));
    ASSERT_TRUE(run(*one, "ZADD", "ranks", "1.5", "a", "-inf", "b"));
    EXPECT_EQ(run(*two, "GET", "text")->text(), std::string("a\0b", 3));
    EXPECT_EQ(run(*two, "HGET", "hash", "g")->text(), "2");
    EXPECT_EQ(run(*two, "LRANGE", "list", 0, -1)->elements().size(), 3U);
    EXPECT_EQ(run(*two, "SISMEMBER", "set", "m")->number(), 1);
    EXPECT_EQ(run(*two, "ZRANGE", "ranks", 0, -1)->elements()[0].text(), "b");
    EXPECT_EQ(run(*two, "DBSIZE")->number(), 5);
    ASSERT_TRUE(run(*two, "DEL", "text"));
    EXPECT_TRUE(run(*one, "GET", "text")->is_nil());
    ASSERT_TRUE(run(*one, "FLUSHALL"));
    EXPECT_EQ(run_sql(path(), "SELECT count(*) FROM holdfast_keys").at(0), "0");
}

TEST_F(sqlite_keys, a_script_works_on_the_keys_that_it_names_and_on_no_other) {
    ASSERT_TRUE(run(*one, "SET", "hidden", "here"));
    EXPECT_EQ(run(*two, "EVAL", "return redis.call('INCR', KEYS[1])", 1, "n")->number(), 1);
    EXPECT_EQ(run(*one, "EVAL", "return redis.call('INCR', KEYS[1])", 1, "n")->number(), 2);
    const auto refused = run(
        *one, "EVAL", "redis.call('SET', 'hidden', 'lost'); redis.call('INCR', KEYS[1])", 1, "n");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), errc::invalid_argument);
    EXPECT_THAT(refused.error().detail, HasSubstr("'hidden'"));
    EXPECT_EQ(run(*one, "GET", "hidden")->text(), "here");
    EXPECT_EQ(run(*one, "GET", "n")->text(), "2") << "nothing of it was done";
}

TEST_F(sqlite_keys, what_cannot_be_kept_in_a_file_is_unsupported) {
    for (const std::string_view name : {"PUBLISH", "SCAN"}) {
        EXPECT_EQ(run(*one, name, "0", "1").error(), errc::unsupported) << name;
    }
    EXPECT_EQ(run(*one, "BLPOP", "list", 0).error(), errc::unsupported);
    EXPECT_EQ(run(*one, "INFO").error(), errc::unsupported);
    EXPECT_EQ(one->subscribe("c", channel_scope::global, {}, time_point::max()).error(),
              errc::unsupported);
}

TEST_F(sqlite_keys, a_watched_key_that_another_process_wrote_fails_the_transaction) {
    ASSERT_TRUE(run(*one, "SET", "n", 1));
    auto session = one->open_session("n", time_point::max()).value();
    const auto soon = system_clock().now() + 5s;
    const auto attempt = [&] {
        const auto begin = words("MULTI");
        const auto add = words("INCR", "n");
        const auto end = words("EXEC");
        const std::array<command, 3> all{begin, add, end};
        std::array<result<reply>, 3> replies;
        session->exchange(all, replies, soon);
        return replies[2].value();
    };
    ASSERT_TRUE(session->execute(words("WATCH", "n"), soon));
    ASSERT_TRUE(run(*two, "SET", "n", 10));
    EXPECT_TRUE(attempt().is_nil());
    ASSERT_TRUE(session->execute(words("WATCH", "n"), soon));
    EXPECT_EQ(attempt().elements().at(0).number(), 11);
}

TEST_F(sqlite_keys, expired_keys_are_gone_for_all_and_their_rows_are_swept) {
    virtual_clock time;
    const auto here = sqlite::make_sqlite_commands({.path = path()}, time, system_entropy());
    const auto give_up = time.now() + 1h;
    ASSERT_TRUE(here->execute(words("SET", "k", "v", "PX", 1000), give_up));
    time.advance(999ms);
    EXPECT_EQ(here->execute(words("GET", "k"), give_up)->text(), "v");
    time.advance(6s);
    EXPECT_TRUE(here->execute(words("GET", "k"), give_up)->is_nil());
    ASSERT_TRUE(here->execute(words("SET", "other", "v"), give_up));
    EXPECT_EQ(run_sql(path(), "SELECT count(*) FROM holdfast_keys").at(0), "1");
}

TEST_F(sqlite_keys, a_damaged_row_is_corrupt) {
    ASSERT_TRUE(run(*one, "SET", "k", "v"));
    run_sql(path(), "UPDATE holdfast_keys SET image = 'q'");
    EXPECT_EQ(run(*one, "GET", "k").error(), errc::corrupt);
}

TEST_F(sqlite_keys, a_limit_holds_across_processes) {
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            auto hf = open("sqlite:" + path()).value();
            rate_limiter api(hf, fixed_window{.limit = 10, .window = 1h});
            int allowed = 0;
            for (int n = 0; n < 10; ++n) {
                const auto answer = api.take("user");
                if (!answer) ::_exit(100);
                if (answer->allowed) ++allowed;
            }
            ::_exit(allowed);
        }
        children.push_back(child);
    }
    int allowed = 0;
    for (const pid_t child : children) {
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFEXITED(status));
        ASSERT_LT(WEXITSTATUS(status), 100);
        allowed += WEXITSTATUS(status);
    }
    EXPECT_EQ(allowed, 10);
}

// Another process cannot wake it, so it looks: soon at first, and every 50 ms at the least.
TEST_F(sqlite_keys, a_latch_is_looked_at_after_a_millisecond_and_then_every_50_ms_at_the_least) {
    virtual_clock time;
    const auto mine = sqlite::make_sqlite_commands({.path = path()}, time, system_entropy());
    const latch_options options{.life = 1h};
    auto waiter = std::async(std::launch::async,
                             [&] { return latch(command_access(mine), "all", 1, options).wait(); });
    std::vector<duration> pauses;
    for (time_point begun = time.now(); time.now() < begun + 10s;) {
        wait_for("it to sleep",
                 [&] { return time.waiting() == 1 && time.next_wake() > time.now(); });
        pauses.push_back(time.next_wake() - time.now());
        time.advance(pauses.back());
    }
    EXPECT_EQ(pauses.front(), 1ms);
    EXPECT_EQ(std::ranges::max(pauses), 50ms);
    EXPECT_TRUE(std::ranges::is_sorted(pauses));
    wait_for("it to sleep", [&] { return time.waiting() == 1 && time.next_wake() > time.now(); });
    const auto other = sqlite::make_sqlite_commands({.path = path()}, time, system_entropy());
    EXPECT_EQ(latch(command_access(other), "all", 1, options).count_down(), 0U);
    time.advance(50ms);
    EXPECT_TRUE(waiter.get());
}

}  // namespace
}  // namespace holdfast::test
