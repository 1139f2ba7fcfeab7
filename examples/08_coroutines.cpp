// SPDX-License-Identifier: Apache-2.0
//
// A thousand coroutines on one thread, each waiting for a lock that another client holds.
//
//     08_coroutines [engine URL]
#include <holdfast/asio.hpp>
#include <holdfast/holdfast.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <iostream>
#include <string>
#include <vector>

namespace asio = boost::asio;

namespace {

constexpr int count = 1000;

std::string account(int i) {
    return "account/" + std::to_string(i);
}

asio::awaitable<void> work(holdfast::client& hf, int i, int& done) {
    auto held = co_await holdfast::async_acquire(hf.mutex(account(i)), {}, asio::use_awaitable);
    if (!held) co_return;
    // … the work, with held->fence() and held->lost() …
    const auto said = co_await holdfast::async_release(std::move(*held), asio::use_awaitable);
    if (said) ++done;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string url = argc > 1 ? argv[1] : "memory:shared";
    auto other = holdfast::open(url).value();
    auto hf = holdfast::open(url).value();
    std::vector<holdfast::lease> held;
    for (int i = 0; i < count; ++i) held.push_back(other.mutex(account(i)).acquire().value());

    asio::io_context context;
    int done = 0;
    for (int i = 0; i < count; ++i) asio::co_spawn(context, work(hf, i, done), asio::detached);
    context.poll();
    std::cout << hf.statistics().waiting << " coroutines wait\n";
    held.clear();  // released in the background, and handed off one by one
    context.run();
    std::cout << done << " had their turn\n";
    return done == count ? 0 : 1;
}
