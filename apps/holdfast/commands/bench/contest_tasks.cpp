// SPDX-License-Identifier: Apache-2.0
//
// The workers of a contest as coroutines: one thread, one client, and nobody blocks.
#include "commands/bench/contest.hpp"

#include <holdfast/asio.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace holdfast::app {
namespace {

using boost::asio::awaitable;
constexpr auto& token = boost::asio::use_awaitable;

/// What the workers share; which of them is used is the options' choice.
struct wanted {
    wanted(client& on, const contest_options& options)
        : permit(options.permit),
          readers(options.readers),
          single(on, contest_name),
          both(on, contest_name),
          one_permit(on, contest_name, 1) {}

    awaitable<result<lease>> take(int worker, const acquire_options& how) {
        if (permit) return async_acquire(one_permit, how, token);
        if (!readers) return async_acquire(single, how, token);
        if (worker == 0) return async_acquire(both, how, token);
        return async_acquire_shared(both, how, token);
    }

    bool permit;
    bool readers;
    mutex single;
    shared_mutex both;
    semaphore one_permit;
};

awaitable<void> sleep_for(duration length) {
    if (length <= duration::zero()) co_return;
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, length);
    co_await timer.async_wait(token);
}

awaitable<void> compete(wanted& what, contest_table& table, int worker,
                        const contest_options& options) {
    contest_turn turn(table, worker, options);
    clock& time = system_clock();
    for (time_point asked = time.now(); asked < turn.end(); asked = time.now()) {
        auto held = co_await what.take(worker, turn.how(asked));
        if (!held) co_return turn.failed(held.error());
        if (const auto hold = turn.got(asked, time.now())) co_await sleep_for(*hold);
        turn.letting_go(time.now());
        const auto gone = co_await async_release(std::move(*held), token);
        if (!gone) co_return turn.failed(gone.error());
        turn.released(time.now());
        co_await sleep_for(options.pause);
    }
}

}  // namespace

void compete_as_tasks(client& on, contest_table& table, const contest_options& options) {
    wanted what(on, options);
    boost::asio::io_context loop(1);
    for (int worker = 0; worker < options.workers; ++worker) {
        boost::asio::co_spawn(loop, compete(what, table, worker, options), boost::asio::detached);
    }
    loop.run();
}

}  // namespace holdfast::app
