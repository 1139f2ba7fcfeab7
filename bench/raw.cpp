// SPDX-License-Identifier: Apache-2.0
//
// bench_raw HOST PORT [workers] [rounds] [options]: the raw pairs, by every way, several times
// over; medians of ratios within a round, because the machine's mood changes from minute to minute.
#include "raw_pairs.hpp"

#include <holdfast/redis.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace holdfast;
using namespace holdfast::bench;

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

void show(const pairs_result& r) {
    fmt::print(
        "  {:<11} {:>3}  {:>8.0f} pairs/s  p50 {:>7.1f} us  p99 {:>8.1f} us  cpu {:>6.2f} us",
        r.way, r.workers, r.pairs_per_second, r.p50_us, r.p99_us, r.client_cpu_us);
    if (r.failures > 0) fmt::print("  FAILURES {}", r.failures);
    fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        fmt::print(stderr, "usage: {} HOST PORT [workers] [rounds] [url options]\n", argv[0]);
        return 2;
    }
    const std::string host = argv[1];
    const auto port = static_cast<std::uint16_t>(std::atoi(argv[2]));
    const int workers = argc > 3 ? std::atoi(argv[3]) : 64;
    const int rounds = argc > 4 ? std::atoi(argv[4]) : 3;
    const std::string options = argc > 5 ? argv[5] : "";
    std::vector<double> to_limit;
    std::vector<double> to_pool;
    std::vector<double> p50;
    for (int i = 0; i < rounds; ++i) {
        const pairs_options wanted{.workers = workers, .length = std::chrono::milliseconds(1500)};
        const double limit = workers >= 64 ? benchmark_pair_limit(host, port).value() : 0;
        const auto blocking = pairs_by_blocking_pool(host, port, wanted);
        auto engine = open_redis(fmt::format("redis://{}:{}{}", host, port, options)).value();
        const auto threads = pairs_by_threads(*engine, wanted);
        const auto s = engine->statistics();
        const auto coroutines = pairs_by_coroutines(*engine, wanted);
        show(blocking);
        show(threads);
        show(coroutines);
        to_pool.push_back(threads.pairs_per_second / blocking.pairs_per_second);
        p50.push_back(threads.p50_us / blocking.p50_us);
        if (limit > 0) to_limit.push_back(threads.pairs_per_second / limit);
        fmt::print(
            "  limit {:.0f}; batch {:.1f}; threads/limit {:.2f}; threads/pool {:.2f}; p50 {:.3f}\n",
            limit, static_cast<double>(s.answered) / static_cast<double>(s.batches),
            limit > 0 ? to_limit.back() : 0.0, to_pool.back(), p50.back());
    }
    fmt::print("median: threads/limit {:.2f}, threads/pool {:.2f}, p50 ratio {:.3f}\n",
               to_limit.empty() ? 0.0 : median(to_limit), median(to_pool), median(p50));
    return 0;
}
