// SPDX-License-Identifier: Apache-2.0
//
// A hit in the process allocates nothing: counted, by replacing operator new in this program. It
// also compares what hits cost, in one run: CACHE_FIGURES=1 prints them.
#include "support/allocation_count.hpp"
#include "support/redis_server.hpp"

#include <holdfast/cache.hpp>
#include <holdfast/redis/redis.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

struct point {
    double x = 0;
    double y = 0;
};

template <class Work>
double microseconds_each(int times, const Work& work) {
    const time_point begun = system_clock().now();
    for (int i = 0; i < times; ++i) work();
    return std::chrono::duration<double, std::micro>(system_clock().now() - begun).count() / times;
}

TEST(cache_allocation, a_hit_in_the_process_allocates_nothing) {
    test::redis_server server;
    const std::shared_ptr<command_engine> engine = open_redis(server.url()).value();
    cache<point> near(command_access(engine),
                      {.prefix = "p:", .local_bytes = 1 << 20, .local_life = 1h});
    cache<point> far(command_access(engine), {.prefix = "p:"});
    const auto load = [] { return point{1, 2}; };
    // Stored before `near` listens: no message of it is under way.
    ASSERT_TRUE(far.get("a", load));
    for (int i = 0; i < 100 && near.statistics().local_hits == 0; ++i) {
        ASSERT_TRUE(near.get("a", load));
    }
    const auto warm = near.statistics().local_hits;
    ASSERT_EQ(warm, 1U);
    int wrong = 0;
    const long before = test::allocations();
    const double local = microseconds_each(10'000, [&] {
        const auto seen = near.get("a", load);
        if (!seen || !*seen || (*seen)->y != 2) ++wrong;
    });
    EXPECT_EQ(test::allocations() - before, 0);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(near.statistics().local_hits - warm, 10'000U);
    if (std::getenv("CACHE_FIGURES") == nullptr) return;
    const std::string same(78 + sizeof(point), 'x');
    ASSERT_TRUE(engine->execute(words("SET", "raw", same), engine->time().now() + 1s));
    for (int round = 0; round < 3; ++round) {
        const double get = microseconds_each(20'000, [&] {
            static_cast<void>(engine->execute(words("GET", "raw"), engine->time().now() + 1s));
        });
        const double hit =
            microseconds_each(20'000, [&] { static_cast<void>(far.get("a", load)); });
        std::cout << "GET " << get << " us, hit by Redis " << hit << " us (" << get / hit
                  << " of its rate), hit in the process " << local << " us (" << hit / local
                  << " x)\n";
    }
}

}  // namespace
}  // namespace holdfast
