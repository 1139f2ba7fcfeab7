// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_engine.hpp"

#include "bench/cpu_split.hpp"
#include <holdfast/redis.hpp>
#include <holdfast/suggest.hpp>

#include <holdfast/url.hpp>

#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <string_view>
#include <utility>

namespace holdfast::app {
namespace {

result<server_place> plain_place(const url& where) {
    const bool plain =
        where.scheme == "redis" && where.hosts.size() == 1 && !where.user && !where.password;
    if (!plain) {
        constexpr std::array<std::string_view, 2> schemes{"memory", "redis"};
        return fail(
            errc::invalid_argument,
            fmt::format("--engine: '{}:' cannot be measured like this{}; take memory:, redis: "
                        "(a server of its own) or redis://host:port without a password",
                        where.scheme, did_you_mean(where.scheme, schemes)));
    }
    const auto& at = where.hosts.front();
    return server_place{at.name, at.port.value_or(6379)};
}

double cpu_seconds_of(int whom) {
    rusage used{};
    ::getrusage(whom, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

// Requires: no thread has been started.
result<bench_engine> bench_engine::make(const bench_options& options) {
    const std::string& asked = options.engine;
    bench_engine made{.label = redacted(asked), .url = asked, .reference = {}};
    const auto where = parse_url(asked);
    if (!where) return std::unexpected(where.error());
    made.in_process = where->scheme == "memory";
    const bool own = asked == "redis:";
    if (!made.in_process && !own) {
        if (options.cpus == "apart") {
            return fail(errc::invalid_argument,
                        "--cpus apart: that server is not ours to move; take --engine redis:");
        }
        auto place = plain_place(*where);
        if (!place) return std::unexpected(std::move(place.error()));
        made.reference = std::move(*place);
        if (const auto there = server_account::read(made.reference); !there) {
            return std::unexpected(there.error());
        }
        return made;
    }
    auto server = own_server::start();
    if (!server) return std::unexpected(std::move(server.error()));
    made.owned = std::move(*server);
    made.reference = {"127.0.0.1", made.owned->port()};
    if (options.cpus == "apart") {
        if (const auto split = split_processors(made.owned->process_id()); !split) {
            return std::unexpected(split.error());
        }
        made.cpus = options.cpus;
    }
    if (own) made.url = fmt::format("redis://127.0.0.1:{}", made.owned->port());
    return made;
}

std::optional<std::uint64_t> commands_sent(const client& by) {
    const auto* redis = dynamic_cast<const redis_engine*>(by.commands().get());
    if (redis == nullptr) return std::nullopt;
    return redis->statistics().commands;
}

std::optional<server_account> bench_engine::account() const {
    if (in_process) return std::nullopt;
    const auto seen = server_account::read(reference);
    return seen ? std::optional(*seen) : std::nullopt;
}

double own_cpu_seconds() {
    return cpu_seconds_of(RUSAGE_SELF);
}

double children_cpu_seconds() {
    return cpu_seconds_of(RUSAGE_CHILDREN);
}

}  // namespace holdfast::app
