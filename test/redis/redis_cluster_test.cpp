// SPDX-License-Identifier: Apache-2.0
//
// A real cluster whose slots move and whose nodes die: what callers are told, and what is stored.
#include <holdfast/redis/redis.hpp>

#include "support/redis_cluster_group.hpp"
#include "support/wait_for.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <iostream>
#include <mutex>
#include <thread>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using test::wait_for;

time_point in(duration d) {
    return system_clock().now() + d;
}

std::unique_ptr<redis_engine> open(const test::redis_cluster_group& group) {
    return open_redis(group.url() + "?reply_timeout=500ms&connect_timeout=500ms").value();
}

std::int64_t stored(test::redis_cluster_group& group, const std::string& key) {
    const reply r = group.owner_of(group.slot_of(key)).raw("GET", key);
    return r.is_nil() ? 0 : std::stoll(r.text());
}

/// Threads that count on one key each, every third by submit(), until they are stopped.
class counters {
public:
    counters(command_engine& engine, std::vector<std::string> keys)
        : engine_(engine), keys_(std::move(keys)) {
        for (std::size_t i = 0; i < keys_.size(); ++i) threads_.emplace_back([this, i] { run(i); });
    }
    ~counters() { stop(); }
    void stop() {
        stopping_ = true;
        threads_.clear();
    }
    void await_answered(int more) const {
        const int enough = answered_ + more;
        wait_for("answered commands", [&] { return answered_ >= enough; }, 20s);
    }
    void expect_truth(test::redis_cluster_group& group) const {
        std::int64_t sum = 0;
        for (const std::string& key : keys_) sum += stored(group, key);
        EXPECT_GE(sum, answered_) << "an answered command was not carried out";
        EXPECT_LE(sum, answered_ + unknown_) << "a command was carried out that was said not to be";
        EXPECT_EQ(late_, 0);
        EXPECT_EQ(other_, 0);
    }
    void report(const char* what) const {
        std::cout << what << ": answered " << answered_ << ", unknown " << unknown_ << ", not sent "
                  << unsent_ << '\n';
    }

    std::atomic<int> answered_ = 0;
    std::atomic<int> unknown_ = 0;
    std::atomic<int> unsent_ = 0;
    std::atomic<int> late_ = 0;
    std::atomic<int> other_ = 0;

private:
    result<reply> count(const std::string& key, bool submitted, time_point give_up) {
        if (!submitted) return engine_.execute(words("INCR", key), give_up);
        std::promise<result<reply>> told;
        engine_.submit(words("INCR", key), give_up,
                       [&](result<reply> r) { told.set_value(std::move(r)); });
        return told.get_future().get();
    }
    void run(std::size_t thread) {
        for (int i = 0; !stopping_; ++i) {
            const time_point give_up = in(1s);
            const auto answer = count(keys_[thread], i % 3 == 0, give_up);
            if (system_clock().now() > give_up + 300ms) ++late_;
            if (answer && !answer->is_error())
                ++answered_;
            else if (!answer && answer.error() == errc::outcome_unknown)
                ++unknown_;
            else if (answer || answer.error() == errc::unavailable ||
                     answer.error() == errc::timed_out)
                ++unsent_;
            else
                ++other_;
        }
    }

    command_engine& engine_;
    const std::vector<std::string> keys_;
    std::atomic<bool> stopping_ = false;
    std::vector<std::jthread> threads_;
};

TEST(redis_cluster, a_batch_is_divided_by_node_and_answered_in_the_callers_order) {
    test::redis_cluster_group group;
    const auto engine = open(group);
    constexpr std::size_t many = 300;
    std::vector<std::string> keys(many);
    std::vector<std::array<std::string_view, 3>> lines(many);
    std::vector<command> commands(many);
    for (std::size_t i = 0; i < many; ++i) {
        keys[i] = "key:" + std::to_string(i);
        lines[i] = {"SET", keys[i], keys[i]};
        commands[i].args = lines[i];
    }
    std::vector<result<reply>> replies(many);
    engine->exchange(commands, replies, in(5s));
    for (const auto& r : replies) ASSERT_TRUE(r && *r == reply::status("OK"));
    std::vector<std::array<std::string_view, 2>> gets(many);
    for (std::size_t i = 0; i < many; ++i) {
        gets[i] = {"GET", keys[i]};
        commands[i].args = gets[i];
    }
    engine->exchange(commands, replies, in(5s));
    for (std::size_t i = 0; i < many; ++i) ASSERT_EQ(replies[i]->text(), keys[i]);
    EXPECT_LT(engine->statistics().batches, 60U) << "a batch goes in one write to each node";

    const auto apart = engine->execute(words("MGET", "a", "b"), in(5s));
    ASSERT_FALSE(apart);
    EXPECT_EQ(apart.error(), errc::invalid_argument);
    EXPECT_NE(apart.error().detail.find("CROSSSLOT MGET"), std::string::npos);
    EXPECT_TRUE(engine->execute(words("MGET", "{t}a", "{t}b"), in(5s)));
    const auto first = words("SET", "a", 1);
    const auto second = words("SET", "b", 1);
    const std::array<command, 2> both{first, second};
    EXPECT_EQ(engine->transaction(both, in(5s)).error(), errc::invalid_argument);
}

TEST(redis_cluster, a_slot_that_moves_under_load_loses_no_count) {
    test::redis_cluster_group group;
    const auto engine = open(group);
    const std::uint16_t slot = group.slot_of("{moves}");
    counters work(*engine, {"{moves}0", "{moves}1", "{moves}2", "stays"});
    work.await_answered(200);
    for (int round = 0; round < 4; ++round) {
        group.move_slot(slot, group.stranger_to(slot));
        work.await_answered(100);
    }
    work.stop();
    work.report("slot moved four times");
    work.expect_truth(group);
    EXPECT_EQ(work.unknown_, 0);
    EXPECT_EQ(work.unsent_, 0);
}

TEST(redis_cluster, a_key_on_its_way_to_another_node_is_asked_for_there) {
    test::redis_cluster_group group;
    const auto engine = open(group);
    const std::uint16_t slot = group.slot_of("{ask}");
    ASSERT_TRUE(engine->execute(words("SET", "{ask}old", "here"), in(5s)));
    auto& to = group.stranger_to(slot);
    group.begin_slot_move(slot, to);
    EXPECT_EQ(engine->execute(words("GET", "{ask}old"), in(5s))->text(), "here");
    EXPECT_TRUE(engine->execute(words("SET", "{ask}new", "there"), in(5s)));
    EXPECT_EQ(engine->execute(words("GET", "{ask}new"), in(5s))->text(), "there");
    EXPECT_EQ(to.raw("CLUSTER", "COUNTKEYSINSLOT", slot), reply::integer(1));

    const script unseen("return redis.call('INCR', KEYS[1])");
    const std::array<std::string_view, 1> counter{"{ask}n"};
    EXPECT_EQ(engine->evaluate(unseen, counter, {}, in(5s)).value(), reply::integer(1));
    const auto incr = words("INCR", "{ask}n");
    std::promise<result<reply>> told;
    engine->submit(incr, in(5s), [&](result<reply> r) { told.set_value(std::move(r)); });
    EXPECT_EQ(told.get_future().get().value(), reply::integer(2));
    const std::array<command, 2> twice{incr, incr};
    const auto transaction = engine->transaction(twice, in(5s));
    ASSERT_TRUE(transaction) << to_string(transaction.error());
    EXPECT_EQ(*transaction, reply::array({reply::integer(3), reply::integer(4)}));

    // One of the keys is here and one there: nobody can serve both, until the move is over.
    const auto torn = engine->execute(words("MGET", "{ask}old", "{ask}new"), in(5s));
    ASSERT_FALSE(torn);
    EXPECT_EQ(torn.error(), errc::unavailable) << to_string(torn.error());
    auto patient = std::async(std::launch::async, [&] {
        return engine->execute(words("MGET", "{ask}old", "{ask}new"), in(5s));
    });
    group.finish_slot_move(slot, to);
    const auto whole = patient.get();
    ASSERT_TRUE(whole) << to_string(whole.error());
    EXPECT_EQ(whole->elements()[1].text(), "there");
}

TEST(redis_cluster, a_dead_nodes_slots_are_served_by_its_replica) {
    test::redis_cluster_group group({}, 1500ms);
    const auto engine = open(group);
    const std::uint16_t slot = group.slot_of("{dies}");
    auto& node = group.owner_of(slot);
    counters work(*engine, {"{dies}0", "{dies}1"});
    work.await_answered(200);
    const auto flag = words("SET", "{dies}flag", 1);
    node.kill();
    const auto set = engine->execute(flag.idempotent(), in(15s));
    EXPECT_TRUE(set || set.error() == errc::unavailable) << to_string(set.error());
    wait_for(
        "the replica to serve",
        [&] { return engine->execute(words("SET", "{dies}flag", 2), in(1s)).has_value(); }, 20s);
    work.await_answered(200);
    work.stop();
    work.report("node killed");
    EXPECT_EQ(work.late_, 0);
    EXPECT_EQ(work.other_, 0);
    EXPECT_LE(work.unknown_, 2 * 2) << "one in flight per thread, and one more at most";
    auto session = engine->open_session("{dies}flag", in(5s));
    ASSERT_TRUE(session) << to_string(session.error());
    EXPECT_EQ((*session)->execute(words("GET", "{dies}flag"), in(5s))->text(), "2");
}

/// Hears a channel, and counts.
struct ears {
    push_handler handler() {
        return [this](const push_event& e) {
            if (e.type == push_event::kind::gap) {
                ++gaps;
                return;
            }
            const std::scoped_lock guard(mutex);
            heard.emplace_back(e.payload);
        };
    }
    bool has(const std::string& text) {
        const std::scoped_lock guard(mutex);
        return std::ranges::find(heard, text) != heard.end();
    }
    std::atomic<int> gaps = 0;
    std::mutex mutex;
    std::vector<std::string> heard;
};

TEST(redis_cluster, a_sharded_channel_is_heard_wherever_its_slot_goes) {
    test::redis_cluster_group group({}, 1500ms);
    const auto engine = open(group);
    const std::uint16_t slot = group.slot_of("{news}");
    ears moving;
    ears staying;
    ears everywhere;
    const auto one = engine->subscribe("{news}a", channel_scope::sharded, moving.handler(), in(5s));
    const auto two = engine->subscribe("quiet", channel_scope::sharded, staying.handler(), in(5s));
    const auto all =
        engine->subscribe("{news}a", channel_scope::global, everywhere.handler(), in(5s));
    ASSERT_TRUE(one && two && all);
    ASSERT_EQ(engine->execute(words("SPUBLISH", "{news}a", "m1"), in(5s)).value(),
              reply::integer(1));
    wait_for("m1", [&] { return moving.has("m1"); });

    group.move_slot(slot, group.stranger_to(slot));
    wait_for("the gap of the move", [&] { return moving.gaps > 0; });
    ASSERT_EQ(engine->execute(words("SPUBLISH", "{news}a", "m2"), in(5s)).value(),
              reply::integer(1));
    wait_for("m2", [&] { return moving.has("m2"); });

    group.owner_of(slot).kill();
    const int before = moving.gaps;
    wait_for("the gap of the failover", [&] { return moving.gaps > before; }, 20s);
    wait_for("m3", [&] {
        (void)engine->execute(words("SPUBLISH", "{news}a", "m3"), in(1s));
        return moving.has("m3");
    });
    wait_for("the global channel, from any node", [&] {
        (void)engine->execute(words("PUBLISH", "{news}a", "g"), in(1s));
        return everywhere.has("g");
    });
    EXPECT_FALSE(everywhere.has("m2")) << "a sharded message is not a global one";
    EXPECT_TRUE(engine->execute(words("SPUBLISH", "quiet", "q"), in(5s)));
    wait_for("q", [&] { return staying.has("q"); });
}

}  // namespace
}  // namespace holdfast
