// SPDX-License-Identifier: Apache-2.0
//
// Locks in coroutines, on every engine.
#include "conformance/lease/mutex_fixture.hpp"

#include <holdfast/asio.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <optional>
#include <stop_token>
#include <thread>

namespace holdfast::test {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

class asio_promise : public mutex_case {
protected:
    asio::io_context context;
};

TEST_P(asio_promise, coroutines_exclude_each_other_and_stay_on_their_thread) {
    int inside = 0;
    int done = 0;
    int wrong = 0;
    const auto me = std::this_thread::get_id();
    const auto task = [&](client& who) -> asio::awaitable<void> {
        for (int i = 0; i < 20; ++i) {
            auto held =
                co_await async_acquire(who.mutex("job"), options(forever), asio::use_awaitable);
            if (!held || ++inside != 1 || std::this_thread::get_id() != me) ++wrong;
            co_await asio::post(context, asio::use_awaitable);  // others run meanwhile
            --inside;
            const auto said = co_await async_release(std::move(*held), asio::use_awaitable);
            if (!said || std::this_thread::get_id() != me) ++wrong;
        }
        ++done;
    };
    for (int i = 0; i < 8; ++i) {
        asio::co_spawn(context, task(i % 2 == 0 ? one : two), asio::detached);
    }
    context.run();
    EXPECT_EQ(done, 8);
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(is_free());
}

TEST_P(asio_promise, a_coroutine_may_leave_a_note) {
    std::string shown;
    const auto task = [&]() -> asio::awaitable<void> {
        auto held = co_await async_acquire(one.mutex("job"),
                                           {.ttl = ttl, .wait = 0s, .note = "from a coroutine"},
                                           asio::use_awaitable);
        wait_for("the note", [&] {
            shown = two.inspect("job").value().value().holders.at(0).note;
            return !shown.empty();
        });
        co_await async_release(std::move(*held), asio::use_awaitable);
    };
    bool ended = false;
    asio::co_spawn(context, task(), [&](const std::exception_ptr&) { ended = true; });
    // A request that met the other client's may be repeated after a pause.
    while (!ended) {
        if (context.run_for(5ms) == 0) bed->pass(20ms);
    }
    EXPECT_EQ(shown, "from a coroutine");
}

TEST_P(asio_promise, coroutines_share_and_take_permits) {
    if (!one.can().shared || !one.can().permits) GTEST_SKIP() << "allowed: exclusive leases only";
    int reading = 0;
    int permits = 0;
    const auto read = [&]() -> asio::awaitable<void> {
        auto held = co_await async_acquire_shared(one.shared_mutex("job"), options(forever),
                                                  asio::use_awaitable);
        reading += held && held->mode().type == lease_mode::kind::shared ? 1 : 0;
        co_await async_release(std::move(*held), asio::use_awaitable);
    };
    const auto take_two = [&]() -> asio::awaitable<void> {
        auto held = co_await async_acquire(two.semaphore("slots", 3), 2, options(forever),
                                           asio::use_awaitable);
        permits += held ? static_cast<int>(held->mode().permits) : 0;
        co_await async_release(std::move(*held), asio::use_awaitable);
    };
    for (int i = 0; i < 5; ++i) asio::co_spawn(context, read(), asio::detached);
    for (int i = 0; i < 5; ++i) asio::co_spawn(context, take_two(), asio::detached);
    context.run();
    EXPECT_EQ(reading, 5);
    EXPECT_EQ(permits, 10);
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(asio_promise, a_cancellation_slot_ends_a_wait) {
    const auto held = take(two);
    asio::cancellation_signal cancel;
    std::optional<errc> said;
    auto job = one.mutex("job");
    async_acquire(job, options(forever),
                  asio::bind_cancellation_slot(cancel.slot(),
                                               asio::bind_executor(context, [&](result<lease> got) {
                                                   said = got ? errc::busy : got.error().code;
                                               })));
    wait_for_waiters(1);
    cancel.emit(asio::cancellation_type::terminal);
    context.run();
    EXPECT_EQ(said, errc::cancelled);
    expect_nobody_waits();
}

TEST_P(asio_promise, a_stop_token_ends_a_wait_that_has_a_slot_too) {
    const auto held = take(two);
    asio::cancellation_signal cancel;
    std::stop_source stop;
    auto job = one.mutex("job");
    std::optional<errc> said;
    async_acquire(job, {.ttl = ttl, .wait = forever, .stop = stop.get_token()},
                  asio::bind_cancellation_slot(cancel.slot(),
                                               asio::bind_executor(context, [&](result<lease> got) {
                                                   said = got ? errc::busy : got.error().code;
                                               })));
    wait_for_waiters(1);
    stop.request_stop();
    context.run();
    EXPECT_EQ(said, errc::cancelled);
    cancel.emit(asio::cancellation_type::all);  // after the end: nothing
}

TEST_P(asio_promise, any_completion_token_works) {
    auto job = one.mutex("job");
    std::thread worker;
    auto guard = asio::make_work_guard(context);
    worker = std::thread([&] { context.run(); });
    auto held = async_acquire(job, options(), asio::bind_executor(context, asio::use_future));
    auto mine = held.get();
    ASSERT_TRUE(mine);
    auto said = async_release(std::move(*mine), asio::bind_executor(context, asio::use_future));
    EXPECT_TRUE(said.get());
    guard.reset();  // and not stop(): who posts to the context may still be at it
    worker.join();
}

TEST_P(asio_promise, thousands_of_coroutines_wait_on_one_thread) {
    const int names = static_cast<int>(bed->many());
    const acquire_options long_lived{.ttl = 60s, .wait = forever};
    std::vector<lease> held;
    for (int i = 0; i < names; ++i) {
        held.push_back(two.mutex("n/" + std::to_string(i)).acquire(long_lived).value());
    }
    int done = 0;
    const auto task = [&](int i) -> asio::awaitable<void> {
        auto mine = co_await async_acquire(one.mutex("n/" + std::to_string(i)), long_lived,
                                           asio::use_awaitable);
        EXPECT_TRUE(mine) << to_string(mine.error());
        if (!mine) co_return;
        const auto released = co_await async_release(std::move(*mine), asio::use_awaitable);
        EXPECT_TRUE(released) << to_string(released.error());
        if (released) ++done;
    };
    for (int i = 0; i < names; ++i) asio::co_spawn(context, task(i), asio::detached);
    context.poll();
    EXPECT_EQ(one.statistics().waiting, static_cast<std::uint64_t>(names));
    for (auto& mine : held) ASSERT_TRUE(std::move(mine).release());
    context.run();
    EXPECT_EQ(done, names);
    EXPECT_TRUE(bed->leftovers().empty());
}

HOLDFAST_ON_EVERY_ENGINE(asio_promise);

}  // namespace
}  // namespace holdfast::test
