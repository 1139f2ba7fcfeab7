// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

/// A coroutine's sleep.
namespace holdfast::bench {

/// Returns at once if the time has passed.
inline boost::asio::awaitable<void> sleep_until(time_point when) {
    const time_point now = system_clock().now();
    if (when <= now) co_return;
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, when - now);
    co_await timer.async_wait(boost::asio::use_awaitable);
}

}  // namespace holdfast::bench
