// SPDX-License-Identifier: Apache-2.0
//
// Real failovers, with three sentinels: what callers are told, and who gets their writes.
#include <holdfast/redis/redis.hpp>

#include "support/redis_sentinel_group.hpp"
#include "support/wait_for.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <iostream>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using test::wait_for;

time_point in(duration d) {
    return system_clock().now() + d;
}

std::unique_ptr<redis_engine> open(const test::redis_sentinel_group& group) {
    return open_redis(group.url() + "?reply_timeout=500ms&connect_timeout=500ms").value();
}

/// Four threads that add ids of their own to a set, and remember what they were told.
class load {
public:
    explicit load(command_engine& engine) : engine_(engine) {
        for (int t = 0; t < 4; ++t) threads_.emplace_back([this, t] { run(t); });
    }
    ~load() { stop(); }
    void stop() {
        stopping_ = true;
        threads_.clear();
    }
    /// Ids from now on begin with this letter.
    void phase(char letter) { phase_ = letter; }
    [[nodiscard]] int acknowledged(char letter) const {
        const std::scoped_lock guard(mutex_);
        int n = 0;
        for (const std::string& id : acknowledged_) n += id[0] == letter;
        return n;
    }
    void await_acknowledged(char letter, int more) const {
        wait_for("acknowledged writes", [&] { return acknowledged(letter) >= more; }, 20s);
    }

    std::set<std::string> acknowledged_;
    std::set<std::string> unknown_;
    std::set<std::string> unsent_;
    std::atomic<int> late_ = 0;
    std::atomic<int> other_ = 0;

private:
    void run(int thread) {
        for (int i = 0; !stopping_; ++i) {
            const std::string id =
                std::string(1, phase_) + std::to_string(thread) + ":" + std::to_string(i);
            const time_point give_up = in(1s);
            const auto answer = engine_.execute(words("SADD", "ids", id), give_up);
            if (system_clock().now() > give_up + 200ms) ++late_;
            {
                const std::scoped_lock guard(mutex_);
                if (answer) {
                    acknowledged_.insert(id);
                } else if (answer.error() == errc::outcome_unknown) {
                    unknown_.insert(id);
                } else if (answer.error() == errc::unavailable ||
                           answer.error() == errc::timed_out) {
                    unsent_.insert(id);
                } else {
                    ++other_;
                    std::cerr << to_string(answer.error()) << '\n';
                }
            }
            // A pace: a refusal at once, again and again, would only fill memory.
            std::unique_lock pace(mutex_);
            system_clock().wait_until(pace, never_, in(1ms));
        }
    }

    command_engine& engine_;
    mutable std::mutex mutex_;
    std::condition_variable never_;
    std::atomic<char> phase_ = 'a';
    std::atomic<bool> stopping_ = false;
    std::vector<std::jthread> threads_;
};

std::set<std::string> members(test::redis_server& server) {
    std::set<std::string> all;
    const reply ids = server.raw("SMEMBERS", "ids");
    for (const reply& one : ids.elements()) all.insert(one.text());
    return all;
}

/// What was acknowledged and is gone. Only writes of before the failover may be.
int lost_of(const load& work, const std::set<std::string>& kept, char may_lose) {
    int lost = 0;
    for (const std::string& id : work.acknowledged_) {
        if (kept.contains(id)) continue;
        ++lost;
        EXPECT_EQ(id[0], may_lose) << id << " was acknowledged by the new master, and is gone";
    }
    return lost;
}

void expect_truth(const load& work, const std::set<std::string>& kept) {
    EXPECT_EQ(work.late_, 0);
    EXPECT_EQ(work.other_, 0);
    for (const std::string& id : work.unsent_) {
        EXPECT_FALSE(kept.contains(id)) << id << " was said not to be sent";
    }
}

void report(const char* what, const load& work, int lost) {
    std::cout << what << ": acknowledged " << work.acknowledged_.size() << ", of these lost "
              << lost << ", unknown " << work.unknown_.size() << ", not sent "
              << work.unsent_.size() << '\n';
}

TEST(redis_sentinel, a_paused_master_is_left_and_not_written_to_when_it_is_back) {
    test::redis_sentinel_group group(1s);
    const auto engine = open(group);
    auto& old = group.master();
    load work(*engine);
    work.await_acknowledged('a', 200);
    old.pause();
    group.await_master_other_than(old.port());
    work.phase('b');
    work.await_acknowledged('b', 200);
    work.phase('c');
    old.resume();
    EXPECT_EQ(old.raw("ROLE").elements().at(0).text(), "master") << "else this shows nothing";
    work.await_acknowledged('c', 500);
    for (const std::string& id : members(old)) {
        EXPECT_EQ(id[0], 'a') << id << " was written to the old master";
    }
    EXPECT_EQ(old.raw("CLIENT", "LIST").text().find("name=holdfast"), std::string::npos);
    work.stop();
    const auto kept = members(group.master());
    report("paused master", work, lost_of(work, kept, 'a'));
    expect_truth(work, kept);
}

TEST(redis_sentinel, a_killed_masters_successor_takes_over_the_load) {
    test::redis_sentinel_group group(1s);
    const auto engine = open(group);
    auto& old = group.master();
    load work(*engine);
    work.await_acknowledged('a', 200);
    old.kill();
    group.await_master_other_than(old.port());
    work.phase('b');
    work.await_acknowledged('b', 200);
    work.stop();
    const auto kept = members(group.master());
    report("killed master", work, lost_of(work, kept, 'a'));
    expect_truth(work, kept);
}

TEST(redis_sentinel, an_ordered_failover_moves_commands_sessions_and_subscriptions) {
    test::redis_sentinel_group group;
    const auto engine = open(group);
    std::atomic<int> gaps = 0;
    std::atomic<int> messages = 0;
    const auto heard = engine->subscribe(
        "news", channel_scope::global,
        [&](const push_event& e) { ++(e.type == push_event::kind::gap ? gaps : messages); },
        in(5s));
    ASSERT_TRUE(heard) << to_string(heard.error());
    auto session = engine->open_session("", in(5s));
    ASSERT_TRUE(session) << to_string(session.error());
    ASSERT_TRUE((*session)->execute(words("SET", "s", 1), in(5s)));
    load work(*engine);
    work.await_acknowledged('a', 100);
    group.failover();
    const time_point switched = system_clock().now();
    // The old master takes writes until it is told: what it acknowledged until now is lost.
    wait_for("writes at the new master", [&] {
        return group.master().raw("CLIENT", "LIST").text().find("cmd=sadd") != std::string::npos;
    });
    EXPECT_LT(system_clock().now() - switched, 1500ms);
    work.phase('b');
    work.await_acknowledged('b', 100);
    wait_for("the subscription on the new master",
             [&] { return gaps > 0 && group.master().raw("PUBLISH", "news", "m").number() == 1; });
    wait_for("the message", [&] { return messages > 0; });
    EXPECT_FALSE((*session)->execute(words("SET", "s", 2), in(5s)))
        << "it is pinned to the old one";
    auto fresh = engine->open_session("", in(5s));
    ASSERT_TRUE(fresh) << to_string(fresh.error());
    EXPECT_TRUE((*fresh)->execute(words("SET", "s", 3), in(5s)));
    work.stop();
    const auto kept = members(group.master());
    report("ordered failover", work, lost_of(work, kept, 'a'));
    expect_truth(work, kept);
}

// An operator changes roles by hand: unlike a sentinel's failover, that leaves connections open, so
// the demoted master answers READONLY on them.
TEST(redis_sentinel, a_write_refused_by_a_demoted_master_is_carried_out_once_by_the_new_one) {
    test::redis_sentinel_group group;
    const auto engine = open(group);
    auto& old = group.master();
    auto& next =
        old.port() == group.servers()[1]->port() ? *group.servers()[2] : *group.servers()[1];
    const auto other = open(group);
    ASSERT_TRUE(engine->execute(words("SET", "n", 10), in(5s)));
    ASSERT_TRUE(other->execute(words("SET", "n", 10), in(5s)));
    auto session = engine->open_session("", in(5s));
    ASSERT_TRUE(session && (*session)->execute(words("PING"), in(5s)));
    for (auto& s : group.sentinels()) s->raw("SENTINEL", "REMOVE", group.master_name());
    next.raw("REPLICAOF", "NO", "ONE");
    wait_for("the new master's data", [&] { return next.raw("GET", "n").text() == "10"; });
    old.raw("REPLICAOF", "127.0.0.1", next.port());

    std::promise<result<reply>> told;
    auto waiting = std::async(std::launch::async,
                              [&] { return engine->execute(words("INCR", "n"), in(15s)); });
    other->submit(words("INCR", "n"), in(15s),
                  [&](result<reply> r) { told.set_value(std::move(r)); });
    wait_for("both to be refused, and to leave the old master", [&] {
        return engine->statistics().disconnects > 0 && other->statistics().disconnects > 0;
    });
    for (auto& s : group.sentinels()) {
        s->raw("SENTINEL", "MONITOR", group.master_name(), "127.0.0.1", next.port(), 2);
    }
    const auto first = waiting.get();
    EXPECT_TRUE(first) << to_string(first.error());
    const auto second = told.get_future().get();
    EXPECT_TRUE(second) << to_string(second.error());
    EXPECT_EQ(next.raw("GET", "n").text(), "12");
    const auto late = (*session)->execute(words("INCR", "n"), in(5s));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error(), errc::unavailable) << to_string(late.error());
}

// One connection is lost and follows before anybody has looked; the others must follow as well.
TEST(redis_sentinel, every_connection_leaves_a_master_that_does_not_know_that_it_was_replaced) {
    test::redis_sentinel_group group;
    const auto engine = open_redis(group.url() + "?connections=3").value();
    auto& old = group.master();
    auto& next = *group.servers()[1];
    const auto ours_at_old = [&] {
        std::vector<std::string> ids;
        std::istringstream clients(old.raw("CLIENT", "LIST").text());
        for (std::string line; std::getline(clients, line);) {
            if (line.find("name=holdfast") == std::string::npos) continue;
            ids.push_back(line.substr(3, line.find(' ') - 3));
        }
        return ids;
    };
    // Idempotent: one that is on its way when its connection ends has no other answer to give.
    const auto use_all = [&] {
        for (int i = 0; i < 6; ++i) {
            const auto pong = engine->execute(words("PING").idempotent(), in(10s));
            EXPECT_TRUE(pong) << to_string(pong.error());
        }
    };
    auto session = engine->open_session("", in(5s)).value();
    EXPECT_TRUE(session->execute(words("PING"), in(5s)));
    const auto heard = engine->subscribe("news", channel_scope::global, [](auto&) {}, in(5s));
    use_all();
    EXPECT_EQ(ours_at_old().size(), 5U) << "three, a session, and the subscriptions";

    for (auto& s : group.sentinels()) s->raw("SENTINEL", "REMOVE", group.master_name());
    next.raw("REPLICAOF", "NO", "ONE");
    for (auto& s : group.sentinels()) {
        s->raw("SENTINEL", "MONITOR", group.master_name(), "127.0.0.1", next.port(), 2);
    }
    old.raw("CLIENT", "KILL", "ID", ours_at_old().back());
    use_all();
    wait_for("all to be gone from the old master", [&] {
        (void)session->execute(words("PING"), in(5s));
        return ours_at_old().empty();
    });
    EXPECT_EQ(old.raw("ROLE").elements().at(0).text(), "master") << "else this shows nothing";
    use_all();
}

TEST(redis_sentinel, a_server_that_is_no_sentinel_is_an_error_that_says_so) {
    test::redis_server plain;
    const auto engine =
        open_redis("redis-sentinel://127.0.0.1:" + std::to_string(plain.port()) + "/m").value();
    const auto answer = engine->execute(words("PING"), in(2s));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error(), errc::unavailable) << to_string(answer.error());
    EXPECT_NE(answer.error().detail.find("where is the master 'm': ERR unknown command"),
              std::string::npos)
        << to_string(answer.error());
}

}  // namespace
}  // namespace holdfast
