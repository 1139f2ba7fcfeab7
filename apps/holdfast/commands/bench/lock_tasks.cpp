// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/lock_tasks.hpp"
#include "commands/bench/task_sleep.hpp"

#include <holdfast/asio.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace holdfast::bench {
namespace {

constexpr auto& awaiting = boost::asio::use_awaitable;

float microseconds(duration d) {
    return static_cast<float>(d.count()) / 1000.0F;
}

struct shared_notes {
    time_point end;
    std::optional<error> failure{};
};

boost::asio::awaitable<result<lease>> taken(task_lock& from) {
    if (auto* one = std::get_if<shared_mutex>(&from))
        return async_acquire_shared(*one, {}, awaiting);
    if (auto* one = std::get_if<semaphore>(&from)) return async_acquire(*one, {}, awaiting);
    return async_acquire(std::get<mutex>(from), {}, awaiting);
}

boost::asio::awaitable<void> pairs(task_lock& lock, int task, task_log& log, shared_notes& all,
                                   const std::function<time_point(int, std::uint64_t)>& due) {
    clock& time = system_clock();
    while (time.now() < all.end && !all.failure) {
        const time_point when = due(task, log.pairs);
        if (when >= all.end) co_return;
        co_await sleep_until(when);
        const time_point start = when == time_point::min() ? time.now() : when;
        auto held = co_await taken(lock);
        const time_point got = time.now();
        if (!held) {
            all.failure = held.error();
            co_return;
        }
        const auto gone = co_await async_release(std::move(*held), awaiting);
        if (!gone) {
            all.failure = gone.error();
            co_return;
        }
        log.acquire_us.push_back(microseconds(got - start));
        log.release_us.push_back(microseconds(time.now() - got));
        ++log.pairs;
    }
}

}  // namespace

result<std::vector<task_log>> lock_pairs_by_coroutines(
    std::span<const std::unique_ptr<task_lock>> locks, std::chrono::milliseconds length,
    const std::function<time_point(int task, std::uint64_t pair)>& due) {
    std::vector<task_log> logs(locks.size());
    boost::asio::io_context loop(1);
    shared_notes all{.end = system_clock().now() + length};
    for (std::size_t i = 0; i < locks.size(); ++i) {
        boost::asio::co_spawn(loop, pairs(*locks[i], static_cast<int>(i), logs[i], all, due),
                              boost::asio::detached);
    }
    loop.run();
    if (all.failure) return std::unexpected(*all.failure);
    return logs;
}

}  // namespace holdfast::bench
