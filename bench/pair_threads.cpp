// SPDX-License-Identifier: Apache-2.0
#include "pair_threads.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace holdfast::bench {

double cpu_seconds() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

pairs_result summary(std::string way, int workers, const std::vector<worker_log>& logs,
                     double seconds, double cpu) {
    pairs_result out{.way = std::move(way), .workers = workers};
    std::vector<float> all;
    for (const worker_log& log : logs) {
        all.insert(all.end(), log.pairs.begin(), log.pairs.end());
        out.failures += log.failures;
        if (out.first_failure.empty()) out.first_failure = log.first_failure;
    }
    if (all.empty()) return out;
    std::ranges::sort(all);
    const auto count = static_cast<double>(all.size());
    out.pairs_per_second = count / seconds;
    out.p50_us = static_cast<double>(all[all.size() / 2]);
    out.p99_us = static_cast<double>(all[all.size() * 99 / 100]);
    out.client_cpu_us = cpu * 1e6 / count;
    return out;
}

}  // namespace holdfast::bench
