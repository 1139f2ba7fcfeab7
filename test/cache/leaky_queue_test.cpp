// SPDX-License-Identifier: Apache-2.0
#include "cache/cache_ground.hpp"

#include <holdfast/leaky_queue.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class leaky_queue_test : public cache_test {
protected:
    leaky_queue open(std::size_t capacity = 100, int attempts = 3) {
        return leaky_queue(where(), "mails",
                           {.capacity = capacity,
                            .every = 20ms,
                            .lease = 60s,
                            .attempts = attempts,
                            .prefix = ground_->prefix(),
                            .timeout = 10s});
    }
    std::string key(const char* kind) { return ground_->prefix() + "{mails}:5:leaky_" + kind; }
    // Lets time pass until it is so.
    template <class Condition>
    void until(Condition&& is_so) {
        for (int i = 0; i < 20'000 && !is_so(); ++i) {
            ground_->pass(1ms);
            // style: allow clock, because virtual time must not outrun the workers' threads
            std::this_thread::sleep_for(1ms);
        }
        EXPECT_TRUE(is_so());
    }
    // Handles all requests on a worker of its own.
    void work_until(leaky_queue& queue, std::uint64_t handled,
                    const std::function<result<void>(std::string_view)>& handle) {
        std::atomic<std::uint64_t> seen = 0;
        std::jthread worker([&](const std::stop_token& stop) {
            const auto done = queue.drain(
                [&](std::string_view request) {
                    ++seen;
                    return handle(request);
                },
                stop);
            EXPECT_TRUE(done);
        });
        until([&] { return seen >= handled; });
    }
};

INSTANTIATE_TEST_SUITE_P(engines, leaky_queue_test, testing::ValuesIn(cache_engines()),
                         engine_name);

TEST_P(leaky_queue_test, holds_what_fits_and_drains_it_in_order_at_its_rate) {
    auto queue = open(5);
    for (int i = 0; i < 5; ++i) {
        const auto put = queue.put(std::to_string(i)).value();
        EXPECT_TRUE(put.accepted);
        EXPECT_EQ(put.waiting, static_cast<std::uint64_t>(i + 1));
        EXPECT_EQ(put.leaves_in, 20ms * i);
    }
    EXPECT_FALSE(queue.put("too many")->accepted);
    EXPECT_EQ(queue.size().value(), 5U);
    EXPECT_GT(raw("PTTL", key("list")).number(), 0);
    clock& time = ground_->engine()->time();
    const time_point begun = time.now();
    std::vector<std::string> handled;
    work_until(queue, 5, [&](std::string_view request) -> result<void> {
        handled.emplace_back(request);
        return {};
    });
    EXPECT_GE(time.now() - begun, 4 * 20ms - 1ms);
    EXPECT_THAT(handled, ElementsAre("0", "1", "2", "3", "4"));
    EXPECT_EQ(queue.size().value(), 0U);
    EXPECT_GT(raw("PTTL", key("state")).number(), 0);
}

TEST_P(leaky_queue_test, of_two_workers_one_works_and_every_request_is_handled_once) {
    auto queue = open();
    std::mutex mutex;
    std::vector<std::string> handled;
    {
        std::vector<std::jthread> workers;
        for (int i = 0; i < 2; ++i) {
            workers.emplace_back([&](const std::stop_token& stop) {
                EXPECT_TRUE(queue.drain(
                    [&](std::string_view request) -> result<void> {
                        const std::scoped_lock guard(mutex);
                        handled.emplace_back(request);
                        return {};
                    },
                    stop));
            });
        }
        for (int i = 0; i < 8; ++i) ASSERT_TRUE(queue.put(std::to_string(i))->accepted);
        until([&] {
            const std::scoped_lock guard(mutex);
            return handled.size() >= 8;
        });
    }
    EXPECT_THAT(handled, ElementsAre("0", "1", "2", "3", "4", "5", "6", "7"));
}

TEST_P(leaky_queue_test, a_dead_workers_request_goes_to_the_next_one) {
    auto queue = open();
    ASSERT_TRUE(queue.put("a")->accepted);
    clock& clock = ground_->engine()->time();
    const time_point begun = clock.now();
    const auto time = raw("TIME").elements();
    const auto until_us = std::to_string(std::stoll(time[0].text()) * 1'000'000 +
                                         std::stoll(time[1].text()) + 200'000);
    raw("HSET", key("state"), "owner", "ghost", "until", until_us, "given", "ghost");
    std::string handled;
    work_until(queue, 1, [&](std::string_view request) -> result<void> {
        handled = request;
        return {};
    });
    EXPECT_EQ(handled, "a");
    EXPECT_GE(clock.now() - begun, 190ms);
}

TEST_P(leaky_queue_test, a_request_that_always_fails_is_dropped_after_its_attempts) {
    auto queue = open(100, 2);
    ASSERT_TRUE(queue.put("bad")->accepted);
    ASSERT_TRUE(queue.put("good")->accepted);
    std::vector<std::string> handled;
    work_until(queue, 3, [&](std::string_view request) -> result<void> {
        handled.emplace_back(request);
        if (request == "bad" && handled.size() == 1) throw std::runtime_error("no");
        if (request == "bad") return fail(errc::unavailable, "no");
        return {};
    });
    EXPECT_THAT(handled, ElementsAre("bad", "bad", "good"));
    EXPECT_EQ(queue.size().value(), 0U);
}

}  // namespace
}  // namespace holdfast::test
