// SPDX-License-Identifier: Apache-2.0
#include "raw_pairs.hpp"

#include "pair_threads.hpp"

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
#include <memory>
#include <stdexcept>
#include <thread>

namespace holdfast::bench {
namespace {

const script& compare_and_delete() {
    static const script s(
        "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) "
        "else return 0 end");
    return s;
}

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

void thread_pairs(command_engine& engine, int id, worker_log& log, const std::atomic<bool>& stop) {
    const std::string key = key_of(id);
    const std::string owner = owner_of(id);
    const script& s = compare_and_delete();
    while (!stop.load(std::memory_order_relaxed)) {
        const time_point start = engine.time().now();
        const time_point give_up = start + std::chrono::seconds(5);
        const auto took = engine.execute(words("SET", key, owner, "NX", "PX", 30000), give_up);
        const auto drop = words("EVALSHA", s.sha1(), 1, key, owner);
        const auto gone = engine.execute({drop.view(), repeat::never, &s}, give_up);
        check(log, took, gone);
        log.time(engine.time().now() - start);
    }
}

boost::asio::awaitable<void> coroutine_pairs(command_engine& engine, int id, worker_log& log,
                                             const bool& stop) {
    const std::string key = key_of(id);
    const std::string owner = owner_of(id);
    const script& s = compare_and_delete();
    constexpr auto& token = boost::asio::use_awaitable;
    while (!stop) {
        const time_point start = engine.time().now();
        const time_point give_up = start + std::chrono::seconds(5);
        const auto take = words("SET", key, owner, "NX", "PX", 30000);
        const auto took = co_await async_execute(engine, take, give_up, token);
        const auto drop = words("EVALSHA", s.sha1(), 1, key, owner);
        const command call{drop.view(), repeat::never, &s};
        const auto gone = co_await async_execute(engine, call, give_up, token);
        check(log, took, gone);
        log.time(engine.time().now() - start);
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
                    const std::atomic<bool>& stop) {
    const context_ptr c(::redisConnect(host.c_str(), port), &redisFree);
    if (!c || c->err != 0) {
        ++log.failures;
        return;
    }
    const std::string key = key_of(id);
    const std::string owner = owner_of(id);
    const std::string& sha = compare_and_delete().sha1();
    ask(c.get(), {"SCRIPT", "LOAD", compare_and_delete().source()});
    while (!stop.load(std::memory_order_relaxed)) {
        const time_point start = system_clock().now();
        const auto took = ask(c.get(), {"SET", key, owner, "NX", "PX", "30000"});
        const auto gone = ask(c.get(), {"EVALSHA", sha, "1", key, owner});
        const auto* last = static_cast<const redisReply*>(gone.get());
        if (!took || last == nullptr || last->integer != 1) ++log.failures;
        log.time(system_clock().now() - start);
    }
}

std::string output_of(const std::string& line) {
    FILE* pipe = ::popen(line.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("cannot run: " + line);
    std::string out;
    std::array<char, 4096> room{};
    while (const std::size_t got = std::fread(room.data(), 1, room.size(), pipe)) {
        out.append(room.data(), got);
    }
    if (::pclose(pipe) != 0) throw std::runtime_error("failed: " + line);
    return out;
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

double rate_of(const std::string& host, std::uint16_t port, int connections, int pipeline,
               const std::string& command) {
    const int requests = pipeline > 1 ? 300'000 : connections > 1 ? 80'000 : 10'000;
    const std::string out =
        output_of(fmt::format("redis-benchmark -h {} -p {} -c {} -P {} -n {} -r 1000000 --csv {}",
                              host, port, connections, pipeline, requests, command));
    // The last line is "name","requests per second",…
    const auto line = out.rfind('\n', out.size() - 2);
    const auto comma = out.find("\",\"", line == std::string::npos ? 0 : line);
    if (comma == std::string::npos) throw std::runtime_error("redis-benchmark said: " + out);
    return std::stod(out.substr(comma + 3));
}

}  // namespace

pairs_result pairs_by_threads(command_engine& engine, const pairs_options& options) {
    return on_threads("threads", options,
                      [&](int id, worker_log& log, const std::atomic<bool>& stop) {
                          thread_pairs(engine, id, log, stop);
                      });
}

pairs_result pairs_by_coroutines(command_engine& engine, const pairs_options& options) {
    boost::asio::io_context context(1);
    std::vector<worker_log> logs(static_cast<std::size_t>(options.workers));
    bool stop = false;
    const time_point start = system_clock().now();
    const double cpu = cpu_seconds();
    for (int id = 0; id < options.workers; ++id) {
        worker_log& log = logs[static_cast<std::size_t>(id)];
        boost::asio::co_spawn(context, coroutine_pairs(engine, id, log, stop),
                              boost::asio::detached);
    }
    context.run_for(options.length);
    stop = true;
    context.run();
    const double seconds = std::chrono::duration<double>(system_clock().now() - start).count();
    return summary("coroutines", options.workers, logs, seconds, cpu_seconds() - cpu);
}

pairs_result pairs_by_blocking_pool(const std::string& host, std::uint16_t port,
                                    const pairs_options& options) {
    return on_threads("blocking", options,
                      [&](int id, worker_log& log, const std::atomic<bool>& stop) {
                          blocking_pairs(host, port, id, log, stop);
                      });
}

double benchmark_pair_limit(const std::string& host, std::uint16_t port, int connections,
                            int pipeline) {
    const script& s = compare_and_delete();
    const context_ptr c(::redisConnect(host.c_str(), port), &redisFree);
    if (!c || c->err != 0) throw std::runtime_error("cannot connect");
    forget_keys(c.get());
    ask(c.get(), {"SCRIPT", "LOAD", s.source()});
    const double set =
        rate_of(host, port, connections, pipeline,
                fmt::format("SET bench:limit:__rand_int__ {} NX PX 30000", owner_of(0)));
    const double drop =
        rate_of(host, port, connections, pipeline,
                fmt::format("EVALSHA {} 1 bench:limit:__rand_int__ {}", s.sha1(), owner_of(0)));
    forget_keys(c.get());
    return 1.0 / (1.0 / set + 1.0 / drop);
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
