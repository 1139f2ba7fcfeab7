// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conformance/lease/testbed.hpp"
#include "support/wait_for.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

/// Two clients of one engine, for the cases about what users see.
namespace holdfast::test {

class mutex_case : public testing::TestWithParam<lease_engine> {
protected:
    acquire_options options(duration wait = duration::zero()) const {
        return {.ttl = ttl, .wait = wait};
    }
    lease take(client& who, std::string_view name = "job") {
        return who.mutex(name).acquire(options()).value();
    }
    /// An engine that promises no order may say busy in the moment in which others give back.
    bool is_free(std::string_view name = "job") {
        for (int asked = 0; asked < (two.can().fair ? 1 : 10); ++asked) {
            auto got = two.mutex(name).try_acquire(options());
            if (got) return std::move(*got).release().has_value();
            if (got.error() != errc::busy) return false;
            std::this_thread::yield();
        }
        return false;
    }
    std::uint32_t waiting(const std::string& name = "job") {
        const auto list = two.list(name).value();
        for (const auto& info : list) {
            if (info.name == name) return info.waiters;
        }
        return 0;
    }
    void wait_for_waiters(std::uint32_t count, const std::string& name = "job") {
        wait_for("waiters in line", [&] { return waiting(name) == count; });
    }
    /// Lets time pass until it comes, in steps that requests on their way can keep up with.
    template <class Result>
    Result pass_until(std::future<Result>& coming) {
        using std::chrono::milliseconds;
        while (coming.wait_for(milliseconds(1)) != std::future_status::ready) {
            bed->pass(milliseconds(20));
        }
        return coming.get();
    }
    /// Whoever left stands in no line. In a quorum the majority knows at once, the others soon.
    void expect_nobody_waits(const std::string& name = "job") {
        if (two.can().fair) {
            EXPECT_EQ(waiting(name), 0U);
        } else {
            wait_for_waiters(0, name);
        }
    }
    /// Lets `total` pass in steps that a keeper can follow. A renewal that virtual time overtook
    /// (it was given up before it was sent) is tried again a thirtieth of the ttl later: so long
    /// passes then, too.
    void live_through(duration total, client& who) {
        live_through(total, who, [&] { return least_remaining(who); });
    }
    void live_through(duration total, client& who, const std::function<duration()>& remaining) {
        const duration step = ttl / 6;
        for (duration passed{}; passed < total; passed += step) {
            auto before = who.statistics();
            bed->pass(step);
            wait_for("the keeper to renew what is due", [&] {
                const auto now = who.statistics();
                if (now.renewal_failures > before.renewal_failures) {
                    before.renewal_failures = now.renewal_failures;
                    bed->pass(ttl / 30);
                }
                return now.lost > before.lost || now.held == 0 || remaining() > ttl * 2 / 3;
            });
        }
    }
    static duration least_remaining(client& who) {
        duration least = duration::max();
        const auto list = who.list().value();
        for (const auto& info : list) {
            if (info.remaining) least = std::min(least, *info.remaining);
            for (const auto& holder : info.holders) {
                if (holder.remaining) least = std::min(least, *holder.remaining);
            }
        }
        return least;
    }

    std::unique_ptr<testbed> bed = GetParam().make();
    const duration ttl = bed->ttl();
    client one = bed->make_client();
    client two = bed->make_client();
};

/// Instantiates the cases of a suite on every engine.
#define HOLDFAST_ON_EVERY_ENGINE(suite)                                                     \
    INSTANTIATE_TEST_SUITE_P(on, suite, testing::ValuesIn(holdfast::test::lease_engines()), \
                             [](const auto& param) { return param.param.name; })

}  // namespace holdfast::test
