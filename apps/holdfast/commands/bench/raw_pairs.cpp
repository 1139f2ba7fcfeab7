// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/raw_pairs.hpp"

#include "commands/bench/pair_threads.hpp"
#include "commands/bench/task_sleep.hpp"

#include <holdfast/asio.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

namespace holdfast::bench {
namespace {

std::string text_of(const result<reply>& r) {
    return r ? to_string(*r) : to_string(r.error());
}

void check(worker_log& log, const result<reply>& took, const result<reply>& gone) {
    if (took && !took->is_nil() && gone && gone->number() == 1) return;
    log.failed(fmt::format("SET {} / delete {}", text_of(took), text_of(gone)));
}

std::string key_of(int worker) {
    return fmt::format("bench:pair:{}", worker);
}
std::string owner_of(int worker) {
    return fmt::format("{:032x}", worker + 1);
}

constexpr std::chrono::seconds patience{5};

auto take_words(const std::string& key, const std::string& owner) {
    return words("SET", key, owner, "NX", "PX", 30000);
}
auto drop_words(const std::string& key, const std::string& owner) {
    return words("EVALSHA", compare_and_delete().sha1(), 1, key, owner);
}

void thread_pairs(command_engine& engine, int id, worker_log& log, turns& mine) {
    const std::string key = key_of(id);
    const std::string owner = owner_of(id);
    const script& s = compare_and_delete();
    while (const auto start = mine.next()) {
        const time_point give_up = *start + patience;
        const auto took = engine.execute(take_words(key, owner), give_up);
        const time_point got = engine.time().now();
        const auto drop = drop_words(key, owner);
        const auto gone = engine.execute({drop.view(), repeat::never, &s}, give_up);
        check(log, took, gone);
        log.time(got - *start, engine.time().now() - got);
    }
}

boost::asio::awaitable<void> coroutine_pairs(command_engine& engine, int id, worker_log& log,
                                             const pace& at, time_point end) {
    const std::string key = key_of(id);
    const std::string owner = owner_of(id);
    const script& s = compare_and_delete();
    constexpr auto& token = boost::asio::use_awaitable;
    while (engine.time().now() < end) {
        const time_point due = at.due(id, log.acquire_us.size());
        if (due >= end) co_return;
        if (at.rate > 0) co_await sleep_until(due);
        const time_point start = at.rate > 0 ? due : engine.time().now();
        const time_point give_up = start + patience;
        const auto take = take_words(key, owner);
        const auto took = co_await async_execute(engine, take, give_up, token);
        const time_point got = engine.time().now();
        const auto drop = drop_words(key, owner);
        const command call{drop.view(), repeat::never, &s};
        const auto gone = co_await async_execute(engine, call, give_up, token);
        check(log, took, gone);
        log.time(got - start, engine.time().now() - got);
    }
}

using context_ptr = std::unique_ptr<redisContext, decltype(&redisFree)>;
using reply_ptr = std::unique_ptr<void, decltype(&freeReplyObject)>;

reply_ptr ask(redisContext* c, const std::vector<std::string_view>& list) {
    std::array<const char*, 8> text{};
    std::array<std::size_t, 8> size{};
    for (std::size_t i = 0; i < list.size(); ++i) {
        text[i] = list[i].data();
        size[i] = list[i].size();
    }
    void* answer = ::redisCommandArgv(c, static_cast<int>(list.size()), text.data(), size.data());
    return {answer, &freeReplyObject};
}

void blocking_pairs(const std::string& host, std::uint16_t port, int id, worker_log& log,
                    turns& mine) {
    const context_ptr c(::redisConnect(host.c_str(), port), &redisFree);
    if (!c || c->err != 0) {
        ++log.failures;
        return;
    }
    const std::string key = key_of(id);
    const std::string owner = owner_of(id);
    const std::string& sha = compare_and_delete().sha1();
    ask(c.get(), {"SCRIPT", "LOAD", compare_and_delete().source()});
    while (const auto start = mine.next()) {
        const auto took = ask(c.get(), {"SET", key, owner, "NX", "PX", "30000"});
        const time_point got = system_clock().now();
        const auto gone = ask(c.get(), {"EVALSHA", sha, "1", key, owner});
        const auto* last = static_cast<const redisReply*>(gone.get());
        log.commands += 2;
        if (!took || last == nullptr || last->integer != 1) ++log.failures;
        log.time(got - *start, system_clock().now() - got);
    }
}

// Only ours: the server may be somebody's.
void forget_keys(redisContext* c) {
    std::string cursor = "0";
    do {
        const auto page = ask(c, {"SCAN", cursor, "MATCH", "bench:limit:*", "COUNT", "10000"});
        const auto* seen = static_cast<const redisReply*>(page.get());
        if (seen == nullptr || seen->type != REDIS_REPLY_ARRAY || seen->elements != 2) return;
        cursor = seen->element[0]->str;
        std::vector<const char*> words{"UNLINK"};
        for (std::size_t i = 0; i < seen->element[1]->elements; ++i) {
            words.push_back(seen->element[1]->element[i]->str);
        }
        if (words.size() == 1) continue;
        const reply_ptr gone(
            ::redisCommandArgv(c, static_cast<int>(words.size()), words.data(), nullptr),
            &freeReplyObject);
    } while (cursor != "0");
}

constexpr int requests = 300'000;

// So many that deletions at random, a third as many, find the key in 85 of 100 tries.
constexpr int keys_to_delete = 3 * requests;
// So many that a key drawn at random is a new one.
constexpr int keys_to_set = 1'000'000'000;

// The keys that redis-benchmark will delete, as it writes them.
result<void> write_keys(redisContext* c, const std::string& owner) {
    constexpr int at_once = 1000;
    for (int i = 0; i < keys_to_delete; i += at_once) {
        for (int k = i; k < i + at_once; ++k) {
            const std::string key = fmt::format("bench:limit:{:012}", k);
            ::redisAppendCommand(c, "SET %s %s EX 60", key.c_str(), owner.c_str());
        }
        for (int k = 0; k < at_once; ++k) {
            void* got = nullptr;
            const bool told = ::redisGetReply(c, &got) == REDIS_OK;
            const reply_ptr reply(got, &freeReplyObject);
            const auto* said = static_cast<const redisReply*>(got);
            if (told && said->type == REDIS_REPLY_STATUS) continue;
            return fail(errc::unavailable,
                        fmt::format("the server does not take {} keys for redis-benchmark: {}",
                                    keys_to_delete, told ? said->str : c->errstr));
        }
    }
    return {};
}

}  // namespace

const script& compare_and_delete() {
    static const script s(
        "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) "
        "else return 0 end");
    return s;
}

pair_words::pair_words(int worker) : key_(key_of(worker)), owner_(owner_of(worker)) {}

result<void> pair_words::take(command_engine& on) const {
    const auto took = on.execute(take_words(key_, owner_), on.time().now() + patience);
    if (took && !took->is_nil() && !took->is_error()) return {};
    return fail(errc::unavailable, fmt::format("SET {}", text_of(took)));
}

result<void> pair_words::release(command_engine& on) const {
    const auto drop = drop_words(key_, owner_);
    const auto gone =
        on.execute({drop.view(), repeat::never, &compare_and_delete()}, on.time().now() + patience);
    if (gone && gone->number() == 1) return {};
    return fail(errc::unavailable, fmt::format("delete {}", text_of(gone)));
}

pairs_result pairs_by_threads(command_engine& engine, const pairs_options& options) {
    return on_threads("threads", options, [&](int id, worker_log& log, turns& mine) {
        thread_pairs(engine, id, log, mine);
    });
}

pairs_result pairs_by_coroutines(command_engine& engine, const pairs_options& options) {
    boost::asio::io_context context(1);
    std::vector<worker_log> logs(static_cast<std::size_t>(options.workers));
    const time_point start = system_clock().now();
    const pace at{start, options.workers, options.rate};
    const double cpu = cpu_seconds();
    for (int id = 0; id < options.workers; ++id) {
        worker_log& log = logs[static_cast<std::size_t>(id)];
        boost::asio::co_spawn(context, coroutine_pairs(engine, id, log, at, start + options.length),
                              boost::asio::detached);
    }
    context.run();
    const double seconds = std::chrono::duration<double>(system_clock().now() - start).count();
    return summary("coroutines", options.workers, logs, seconds, cpu_seconds() - cpu);
}

pairs_result pairs_by_blocking_pool(const std::string& host, std::uint16_t port,
                                    const pairs_options& options) {
    return on_threads("blocking", options, [&](int id, worker_log& log, turns& mine) {
        blocking_pairs(host, port, id, log, mine);
    });
}

result<double> redis_benchmark_rate(const std::string& host, std::uint16_t port, int requests,
                                    int keys, const std::string& command) {
    const std::string line =
        fmt::format("redis-benchmark -h {} -p {} -c 64 -P 16 -n {} -r {} --csv {}", host, port,
                    requests, keys, command);
    FILE* const pipe = ::popen(line.c_str(), "r");
    if (pipe == nullptr) return fail(errc::unavailable, "cannot run redis-benchmark");
    std::string out;
    std::array<char, 4096> room{};
    while (const std::size_t got = std::fread(room.data(), 1, room.size(), pipe)) {
        out.append(room.data(), got);
    }
    const bool good = ::pclose(pipe) == 0;
    // The last line is "name","requests per second",…
    const auto last = out.size() < 2 ? std::string::npos : out.rfind('\n', out.size() - 2);
    const auto comma = out.find("\",\"", last == std::string::npos ? 0 : last);
    if (!good || comma == std::string::npos) {
        return fail(errc::unavailable,
                    "redis-benchmark failed; if it is missing, Debian has it in redis-tools");
    }
    return std::strtod(out.c_str() + comma + 3, nullptr);
}

result<double> benchmark_pair_limit(const std::string& host, std::uint16_t port) {
    const script& s = compare_and_delete();
    const context_ptr c(::redisConnect(host.c_str(), port), &redisFree);
    if (!c || c->err != 0) return fail(errc::unavailable, "the reference's connection failed");
    const std::string owner = owner_of(0);
    ask(c.get(), {"SCRIPT", "LOAD", s.source()});
    forget_keys(c.get());
    const auto set =
        redis_benchmark_rate(host, port, requests, keys_to_set,
                             fmt::format("SET bench:limit:__rand_int__ {} NX PX 30000", owner));
    forget_keys(c.get());
    if (!set) return set;
    const auto written = write_keys(c.get(), owner);
    const auto drop =
        written ? redis_benchmark_rate(
                      host, port, requests, keys_to_delete,
                      fmt::format("EVALSHA {} 1 bench:limit:__rand_int__ {}", s.sha1(), owner))
                : std::unexpected(written.error());
    forget_keys(c.get());
    if (!drop) return drop;
    return 1.0 / (1.0 / *set + 1.0 / *drop);
}

std::string to_json(const std::vector<pairs_result>& results, double limit) {
    std::string out =
        fmt::format("{{\"redis_benchmark_pairs_per_second\": {:.0f}, \"ways\": [", limit);
    const char* separator = "";
    for (const pairs_result& r : results) {
        out += fmt::format(
            "{}\n  {{\"way\": \"{}\", \"workers\": {}, \"pairs_per_second\": {:.0f}, "
            "\"p50_us\": {:.1f}, \"p99_us\": {:.1f}, \"client_cpu_us_per_pair\": {:.2f}, "
            "\"failures\": {}}}",
            separator, r.way, r.workers, r.pairs_per_second, r.p50_us, r.p99_us, r.client_cpu_us,
            r.failures);
        separator = ",";
    }
    return out + "\n]}\n";
}

}  // namespace holdfast::bench
