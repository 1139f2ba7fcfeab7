// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/pair_threads.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <functional>

namespace holdfast::bench {

double cpu_seconds() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

two_points points_of(std::vector<float>& values) {
    if (values.empty()) return {};
    std::ranges::sort(values);
    return {static_cast<double>(values[values.size() / 2]),
            static_cast<double>(values[values.size() * 99 / 100])};
}

pairs_result summary(std::string way, int workers, const std::vector<worker_log>& logs,
                     double seconds, double cpu) {
    pairs_result out{.way = std::move(way), .workers = workers};
    std::vector<float> acquire;
    std::vector<float> release;
    for (const worker_log& log : logs) {
        acquire.insert(acquire.end(), log.acquire_us.begin(), log.acquire_us.end());
        release.insert(release.end(), log.release_us.begin(), log.release_us.end());
        out.per_worker.push_back(log.acquire_us.size());
        out.commands += log.commands;
        out.failures += log.failures;
        if (out.first_failure.empty()) out.first_failure = log.first_failure;
    }
    if (acquire.empty()) return out;
    std::vector<float> pairs(acquire.size());
    std::ranges::transform(acquire, release, pairs.begin(), std::plus{});
    const auto count = static_cast<double>(pairs.size());
    const two_points pair = points_of(pairs);
    out.pairs_per_second = count / seconds;
    out.p50_us = pair.p50;
    out.p99_us = pair.p99;
    out.acquire_us = points_of(acquire);
    out.release_us = points_of(release);
    out.client_cpu_us = cpu * 1e6 / count;
    return out;
}

}  // namespace holdfast::bench
