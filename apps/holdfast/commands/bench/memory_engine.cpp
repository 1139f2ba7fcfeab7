// SPDX-License-Identifier: Apache-2.0
//
// What one command costs on the embedded engine, on one thread and without contention: the floor
// under every lock on `memory:`.
#include "driver/memory/memory_engine.hpp"

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace {

using namespace holdfast;

constexpr time_point no_limit = time_point::max();

void check(benchmark::State& state, const result<reply>& answer) {
    if (!answer || answer->is_error()) state.SkipWithError("the engine refused the command");
}

void run(benchmark::State& state, command_engine& engine, const command& c) {
    result<reply> answer;
    engine.exchange({&c, 1}, {&answer, 1}, no_limit);
    check(state, answer);
    benchmark::DoNotOptimize(answer);
}

void set_and_delete(benchmark::State& state) {
    const auto engine = make_memory_engine();
    const auto set =
        words("SET", "lock:orders/42", "0123456789abcdef0123456789abcdef", "NX", "PX", 30000);
    const auto del = words("DEL", "lock:orders/42");
    for (auto _ : state) {
        run(state, *engine, set);
        run(state, *engine, del);
    }
}
BENCHMARK(set_and_delete);

void get(benchmark::State& state) {
    const auto engine = make_memory_engine();
    run(state, *engine, words("SET", "key", "value"));
    const auto c = words("GET", "key");
    for (auto _ : state) run(state, *engine, c);
}
BENCHMARK(get);

// The shape of a fenced acquire: look, take, draw a number.
void script_with_three_calls(benchmark::State& state) {
    const auto engine = make_memory_engine();
    const script body(R"(
        local held = redis.call('GET', KEYS[1])
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        return redis.call('INCR', KEYS[2]))");
    const auto list = words("EVALSHA", body.sha1(), 2, "{lock:a}", "{lock:a}:fence",
                            "0123456789abcdef0123456789abcdef", 30000);
    command c = list;
    c.body = &body;
    for (auto _ : state) run(state, *engine, c);
}
BENCHMARK(script_with_three_calls);

void empty_script(benchmark::State& state) {
    const auto engine = make_memory_engine();
    const script body("return 1");
    const auto list = words("EVALSHA", body.sha1(), 0);
    command c = list;
    c.body = &body;
    for (auto _ : state) run(state, *engine, c);
}
BENCHMARK(empty_script);

// A new key each time, a million of them with an expiry: growth and the heap of expiries.
void set_many_expiring_keys(benchmark::State& state) {
    const auto engine = make_memory_engine();
    std::vector<std::string> names;
    for (int i = 0; i < 1'000'000; ++i) names.push_back("session:" + std::to_string(i));
    std::size_t at = 0;
    for (auto _ : state) {
        const auto c = words("SET", names[at], "x", "PX", 3'600'000);
        run(state, *engine, c);
        at = (at + 1) % names.size();
    }
}
BENCHMARK(set_many_expiring_keys);

void rank_in_a_hundred_thousand(benchmark::State& state) {
    const auto engine = make_memory_engine();
    for (int i = 0; i < 100'000; ++i) {
        run(state, *engine, words("ZADD", "board", i * 7 % 100'003, "player:" + std::to_string(i)));
    }
    const auto c = words("ZRANK", "board", "player:500");
    for (auto _ : state) run(state, *engine, c);
}
BENCHMARK(rank_in_a_hundred_thousand);

void publish_to_one(benchmark::State& state) {
    const auto engine = make_memory_engine();
    std::size_t heard = 0;
    const auto hearing = engine->subscribe(
        "news", channel_scope::global, [&](const push_event&) { ++heard; }, no_limit);
    const auto c = words("PUBLISH", "news", "hello");
    for (auto _ : state) run(state, *engine, c);
    if (heard == 0) state.SkipWithError("nobody heard");
}
BENCHMARK(publish_to_one);

}  // namespace

BENCHMARK_MAIN();
