// SPDX-License-Identifier: Apache-2.0
#include "bench/redis_benchmark.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace holdfast::app {
namespace {

constexpr int requests = 100'000;

}  // namespace

result<benchmark_rate> run_redis_benchmark(const server_place& where, const std::string& command,
                                           int keys) {
    const std::string line =
        fmt::format("redis-benchmark -h {} -p {} -c 64 -P 16 -n {} -r {} --csv {}", where.host,
                    where.port, requests, keys, command);
    const auto before = server_account::read(where);
    FILE* const pipe = ::popen(line.c_str(), "r");
    if (pipe == nullptr) return fail(errc::unavailable, "cannot run redis-benchmark");
    std::string out;
    std::array<char, 4096> room{};
    while (const std::size_t got = std::fread(room.data(), 1, room.size(), pipe)) {
        out.append(room.data(), got);
    }
    const bool good = ::pclose(pipe) == 0;
    // The last line is "name","requests per second",…
    const auto last = out.size() < 2 ? std::string::npos : out.rfind('\n', out.size() - 2);
    const auto comma = out.find("\",\"", last == std::string::npos ? 0 : last);
    if (!good || comma == std::string::npos) {
        return fail(errc::unavailable,
                    "redis-benchmark cannot be run; Debian has it in redis-tools");
    }
    const auto after = server_account::read(where);
    if (!before || !after) return fail(errc::unavailable, "the server does not answer INFO");
    return benchmark_rate{std::strtod(out.c_str() + comma + 3, nullptr),
                          (after->cpu_seconds - before->cpu_seconds) * 1e6 / requests};
}

}  // namespace holdfast::app
