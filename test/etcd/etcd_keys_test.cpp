// SPDX-License-Identifier: Apache-2.0
//
// Commands on keys in etcd; what traffic control does on them is asked in test/traffic.
#include "driver/etcd/etcd_commands.hpp"
#include "driver/etcd/key_record.hpp"
#include "etcd/etcd_ground.hpp"

#include "support/fault_proxy.hpp"
#include "support/wait_for.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/virtual_clock.hpp>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using testing::HasSubstr;

class etcd_keys : public testing::Test {
protected:
    static std::shared_ptr<command_engine> engine(clock& time = system_clock(),
                                                  std::uint16_t port = shared_etcd().port(0)) {
        return etcd::make_etcd_commands(etcd_at({port}), time, system_entropy()).value();
    }
    template <class... Words>
    static result<reply> run(command_engine& on, const Words&... list) {
        return on.execute(words(list...), on.time().now() + 5s);
    }
    std::string key(std::string_view name) const { return fmt::format("{}:{}", name, mark_); }

    std::shared_ptr<command_engine> one = engine();
    std::shared_ptr<command_engine> two = engine();

private:
    const std::uint64_t mark_ = system_entropy().below(1ULL << 62);
};

TEST_F(etcd_keys, every_type_of_value_is_seen_by_the_other_clients) {
    ASSERT_TRUE(run(*one, "SET", key("text"), std::string_view("a\0b", 3)));
    ASSERT_TRUE(run(*one, "HSET", key("hash"), "f", "1", "g", "2"));
    ASSERT_TRUE(run(*one, "RPUSH", key("list"), "x", "y", "x"));
    ASSERT_TRUE(run(*one, "SADD", key("set"), "m"));
    ASSERT_TRUE(run(*one, "ZADD", key("ranks"), "1.5", "a", "-inf", "b"));
    EXPECT_EQ(run(*two, "GET", key("text"))->text(), std::string("a\0b", 3));
    EXPECT_EQ(run(*two, "HGET", key("hash"), "g")->text(), "2");
    EXPECT_EQ(run(*two, "LRANGE", key("list"), 0, -1)->elements().size(), 3U);
    EXPECT_EQ(run(*two, "SISMEMBER", key("set"), "m")->number(), 1);
    EXPECT_EQ(run(*two, "ZRANGE", key("ranks"), 0, -1)->elements()[0].text(), "b");
    ASSERT_TRUE(run(*two, "DEL", key("text")));
    EXPECT_TRUE(run(*one, "GET", key("text"))->is_nil()) << "although it wrote it last itself";
}

TEST_F(etcd_keys, what_etcd_cannot_carry_out_is_refused_with_a_reason) {
    EXPECT_EQ(run(*one, "PUBLISH", "c", "1").error(), errc::unsupported);
    EXPECT_EQ(run(*one, "SCAN", "0", "1").error(), errc::unsupported);
    EXPECT_EQ(run(*one, "DBSIZE").error(), errc::unsupported);
    EXPECT_EQ(run(*one, "BLPOP", key("list"), 0).error(), errc::unsupported);
    EXPECT_EQ(one->subscribe("c", channel_scope::global, {}, time_point::max()).error(),
              errc::unsupported);

    std::vector<std::string> names{"MGET"};
    for (int i = 0; i < 129; ++i) names.push_back(key(std::to_string(i)));
    const std::vector<std::string_view> many(names.begin(), names.end());
    const auto refused = one->execute({many}, system_clock().now() + 5s);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), errc::unsupported);
    EXPECT_THAT(refused.error().detail, HasSubstr("128 keys"));

    const auto large = run(*one, "SET", key("large"), std::string(2 << 20, 'x'));
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error(), errc::invalid_argument);
    const auto hidden = run(*one, "EVAL", "redis.call('SET', 'hidden', 'x')", 1, key("n"));
    ASSERT_FALSE(hidden);
    EXPECT_EQ(hidden.error(), errc::invalid_argument);
}

TEST_F(etcd_keys, a_call_of_more_commands_than_a_transaction_takes_is_cut) {
    std::vector<std::string> names;
    for (int i = 0; i < 300; ++i) names.push_back(key(std::to_string(i)));
    const std::vector<std::string_view> views(names.begin(), names.end());
    once marks(command_access(one), {.prefix = "many:"});
    const auto first = marks.claim(views);
    EXPECT_TRUE(std::ranges::all_of(first, [](const auto& c) { return c && c->first; }));
    const auto second = once(command_access(two), {.prefix = "many:"}).claim(views);
    EXPECT_TRUE(std::ranges::all_of(second, [](const auto& c) { return c && !c->first; }));
}

// Two clients, each of which knows only what it wrote itself.
TEST_F(etcd_keys, nothing_that_threads_and_clients_add_at_once_is_lost) {
    constexpr int each = 40;
    const std::string n = key("n");
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&, i] {
            command_engine& mine = i % 2 == 0 ? *one : *two;
            for (int k = 0; k < each; ++k) {
                EXPECT_TRUE(mine.execute(words("INCR", n), system_clock().now() + 30s));
            }
        });
    }
    threads.clear();
    EXPECT_EQ(run(*one, "GET", n)->text(), std::to_string(8 * each));
}

TEST_F(etcd_keys, a_write_whose_answer_was_lost_is_found_or_unknown_and_never_done_twice) {
    fault_proxy proxy(shared_etcd().port(0));
    const auto through = engine(system_clock(), proxy.port());
    const std::string n = key("n");
    std::int64_t at_least = 0;
    std::int64_t at_most = 0;
    for (std::size_t cut = 0; cut < 120; cut += 13) {
        SCOPED_TRACE(cut);
        wait_for("the connection", [&] { return run(*through, "GET", n).has_value(); });
        proxy.cut_replies_after(cut);
        const std::uint64_t before = proxy.bytes_to_server();
        std::jthread heal([&] {
            wait_for("a request", [&] { return proxy.bytes_to_server() > before; });
            proxy.pass();
        });
        const auto added = run(*through, "INCR", n);
        heal.join();
        at_most += 1;
        at_least += added ? 1 : 0;
        if (!added && added.error() != errc::outcome_unknown) at_most -= 1;
        const auto now = run(*two, "INCRBY", n, 0)->number();
        EXPECT_GE(now, at_least);
        EXPECT_LE(now, at_most);
        at_least = at_most = now;
    }
}

TEST_F(etcd_keys, a_watched_key_that_another_client_wrote_fails_the_transaction) {
    const std::string n = key("n");
    ASSERT_TRUE(run(*one, "SET", n, 1));
    auto session = one->open_session(n, time_point::max()).value();
    const auto soon = system_clock().now() + 5s;
    const auto attempt = [&] {
        const auto begin = words("MULTI");
        const auto add = words("INCR", n);
        const auto end = words("EXEC");
        const std::array<command, 3> all{begin, add, end};
        std::array<result<reply>, 3> replies;
        session->exchange(all, replies, soon);
        return replies[2].value();
    };
    ASSERT_TRUE(session->execute(words("WATCH", n), soon));
    ASSERT_TRUE(run(*two, "SET", n, 10));
    EXPECT_TRUE(attempt().is_nil());
    ASSERT_TRUE(session->execute(words("WATCH", n), soon));
    EXPECT_EQ(attempt().elements().at(0).number(), 11);
}

TEST_F(etcd_keys, time_never_goes_back_for_a_key_and_a_clock_far_ahead_is_told_of) {
    virtual_clock behind;
    virtual_clock ahead;
    ahead.advance(5s);
    const auto late = engine(behind);
    const auto early = engine(ahead);
    ASSERT_TRUE(run(*early, "SET", key("k"), "v", "PX", 1000));
    EXPECT_LE(run(*late, "PTTL", key("k"))->number(), 1000) << "not 6000";
    ahead.advance(1001ms);  // a key lives through the millisecond that it ends in
    EXPECT_TRUE(run(*early, "GET", key("k"))->is_nil());
    ahead.advance(1h);
    ASSERT_TRUE(run(*early, "SET", key("k"), "v"));
    const auto refused = run(*late, "GET", key("k"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), errc::unavailable);
    EXPECT_THAT(refused.error().detail, HasSubstr("NTP"));
}

TEST_F(etcd_keys, a_key_that_ends_has_a_lease_that_frees_its_room_and_others_have_none) {
    const auto lease_of = [&](const std::string& name) {
        for (const std::string& line :
             shared_etcd().ctl({"get", "-w", "fields", "holdfast.keys/" + name})) {
            if (line.starts_with("\"Lease\"")) return std::stoll(line.substr(line.find(':') + 1));
        }
        throw std::runtime_error("there is no such key");
    };
    ASSERT_TRUE(run(*one, "SET", key("a"), "v", "PX", 1000));
    ASSERT_TRUE(run(*one, "SET", key("b"), "v", "EX", 50));
    ASSERT_TRUE(run(*one, "SET", key("c"), "v", "EX", 3600));
    ASSERT_TRUE(run(*one, "SET", key("d"), "v"));
    const auto shared = lease_of(key("a"));
    EXPECT_NE(shared, 0);
    EXPECT_EQ(lease_of(key("b")), shared);
    EXPECT_NE(lease_of(key("c")), shared);
    EXPECT_EQ(lease_of(key("d")), 0);
    shared_etcd().ctl({"lease", "revoke", fmt::format("{:x}", shared)});
    EXPECT_TRUE(run(*one, "SET", key("a"), "v", "PX", 1000)) << "with another lease";
}

TEST_F(etcd_keys, what_is_no_record_is_corrupt) {
    shared_etcd().ctl({"put", "holdfast.keys/" + key("k"), "x"});
    EXPECT_EQ(run(*one, "GET", key("k")).error(), errc::corrupt);
    EXPECT_FALSE(etcd::read_key_record("K1 too short"));
}

TEST_F(etcd_keys, a_child_of_fork_is_told_to_open_it_again) {
    ASSERT_TRUE(run(*one, "SET", key("k"), "v"));
    const pid_t child = ::fork();
    if (child == 0) {
        const auto refused = run(*one, "GET", key("k"));
        ::_exit(!refused && refused.error() == errc::invalid_argument ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace holdfast::test
