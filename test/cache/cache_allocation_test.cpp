// SPDX-License-Identifier: Apache-2.0
//
// A hit in the process allocates nothing: counted, by replacing operator new in this program. It
// also compares what hits cost, in one run: CACHE_FIGURES=1 prints them.
#include "support/redis_server.hpp"

#include <holdfast/cache.hpp>
#include <holdfast/redis/redis.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <new>

namespace {
std::atomic<long> cache_allocations{0};
}

void* operator new(std::size_t size) {
    cache_allocations.fetch_add(1, std::memory_order_relaxed);
    if (void* p = std::malloc(size)) return p;
    throw std::bad_alloc();
}
void operator delete(void* p) noexcept {
    std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
    std::free(p);
}

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
    ASSERT_TRUE(near.get("a", load));
    ASSERT_TRUE(far.get("a", load));
    int wrong = 0;
    const long before = cache_allocations.load();
    const double local = microseconds_each(10'000, [&] {
        const auto seen = near.get("a", load);
        if (!seen || !*seen || (*seen)->y != 2) ++wrong;
    });
    EXPECT_EQ(cache_allocations.load() - before, 0);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(near.statistics().local_hits, 10'000U);
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
