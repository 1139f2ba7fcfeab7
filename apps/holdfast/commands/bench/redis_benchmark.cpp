// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/redis_benchmark.hpp"

#include "commands/bench/raw_pairs.hpp"

namespace holdfast::app {
namespace {

constexpr int requests = 100'000;

}  // namespace

result<benchmark_rate> run_redis_benchmark(const server_place& where, const std::string& command,
                                           int keys) {
    const auto before = server_account::read(where);
    const auto rate = bench::redis_benchmark_rate(where.host, where.port, requests, keys, command);
    if (!rate) return std::unexpected(rate.error());
    const auto after = server_account::read(where);
    if (!before || !after) return fail(errc::unavailable, "the server does not answer INFO");
    return benchmark_rate{*rate, (after->cpu_seconds - before->cpu_seconds) * 1e6 / requests};
}

}  // namespace holdfast::app
