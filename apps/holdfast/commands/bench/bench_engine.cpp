// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/bench_engine.hpp"

#include "commands/bench/cpu_split.hpp"

#include <holdfast/engine/suggest.hpp>
#include <holdfast/engine/url.hpp>
#include <holdfast/redis/redis.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/resource.h>

#include <array>
#include <string_view>
#include <utility>

namespace holdfast::app {
namespace {

using kind = bench_engine::kind;
using breadth = bench_engine::breadth;

constexpr int quorum_size = 5;

// "?fence=off" of the URL that was asked for, or nothing.
std::string_view options_of(std::string_view asked) {
    const std::size_t at = asked.find('?');
    return at == std::string_view::npos ? std::string_view() : asked.substr(at);
}

std::unexpected<error> cannot(std::string_view scheme, breadth allowed) {
    std::vector<std::string_view> schemes{"memory", "redis"};
    std::string more;
    if (allowed != breadth::redis_and_memory) {
        schemes.emplace_back("sqlite");
        more = ", sqlite:";
    }
    if (allowed == breadth::all) {
        schemes.emplace_back("redlock");
        schemes.emplace_back("postgresql");
        schemes.emplace_back("mysql");
        schemes.emplace_back("etcd");
        schemes.emplace_back("zookeeper");
        more +=
            ", redlock: (five of its own), postgresql://host/database, mysql://host/database, "
            "etcd://host, zookeeper://host";
    }
    const bool known = std::ranges::find(schemes, scheme) != schemes.end();
    const std::string why = known ? std::string("such a URL cannot be measured")
                                  : fmt::format("'{}:' cannot be measured like this{}", scheme,
                                                did_you_mean(scheme, schemes));
    return fail(errc::invalid_argument,
                fmt::format("--engine: {}{} take memory:, redis: (a server of its own){} or "
                            "redis://host:port without a password",
                            why, why.ends_with('?') ? "" : ";", more));
}

result<server_place> start_server(bench_engine& made) {
    auto server = own_server::start();
    if (!server) return std::unexpected(std::move(server.error()));
    made.owned.push_back(std::move(*server));
    return server_place{"127.0.0.1", made.owned.back()->port()};
}

result<void> use_server(bench_engine& made, const url& where, breadth allowed) {
    const bool plain = where.hosts.size() == 1 && !where.user && !where.password;
    if (!plain) return cannot(where.scheme, allowed);
    const auto& at = where.hosts.front();
    made.reference = {at.name, at.port.value_or(6379)};
    made.servers = {made.reference};
    const auto there = server_account::read(made.reference);
    return there ? result<void>() : std::unexpected(there.error());
}

result<void> use_own_server(bench_engine& made) {
    auto place = start_server(made);
    if (!place) return std::unexpected(std::move(place.error()));
    made.reference = *place;
    if (made.of == kind::in_process) return {};
    made.servers = {*place};
    made.url = fmt::format("redis://127.0.0.1:{}{}", place->port, options_of(made.url));
    return {};
}

result<void> use_own_quorum(bench_engine& made) {
    made.of = kind::quorum;
    auto single = start_server(made);
    if (!single) return std::unexpected(std::move(single.error()));
    made.reference = std::move(*single);
    std::vector<std::string> hosts;
    for (int i = 0; i < quorum_size; ++i) {
        auto place = start_server(made);
        if (!place) return std::unexpected(std::move(place.error()));
        hosts.push_back(fmt::format("{}:{}", place->host, place->port));
        made.servers.push_back(std::move(*place));
    }
    // A server that has just started would grant nothing for the length of the quarantine.
    const std::string_view options = options_of(made.url);
    const bool says = options.find("quarantine=") != std::string_view::npos;
    made.url = fmt::format("redlock://{}{}{}", fmt::join(hosts, ","),
                           options.empty() ? "?" : options, says ? "" : "&quarantine=off");
    return {};
}

result<void> use_file(bench_engine& made, const url& where) {
    made.of = kind::file;
    std::error_code problem;
    const std::filesystem::path folder =
        where.path.empty() ? std::filesystem::temp_directory_path()
                           : std::filesystem::absolute(where.path, problem).parent_path();
    auto place = own_directory::make(folder);
    if (!place) return std::unexpected(std::move(place.error()));
    made.directory = std::move(*place);
    if (!where.path.empty()) return {};
    made.url = fmt::format("sqlite:{}{}", (made.directory.path() / "locks.db").string(),
                           options_of(made.url));
    return {};
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
result<bench_engine> bench_engine::make(const bench_options& options, breadth allowed) {
    bench_engine made{.label = redacted(options.engine), .url = options.engine};
    const auto where = parse_url(options.engine);
    if (!where) return fail(where.error().code, "--engine: " + where.error().detail);
    const bool own = where->hosts.empty() && where->path.empty();
    const bool split = options.cpus == "apart";
    result<void> done = cannot(where->scheme, allowed);
    if (where->scheme == "memory") {
        made.of = kind::in_process;
        done = use_own_server(made);
    } else if (where->scheme == "redis") {
        done = own ? use_own_server(made) : use_server(made, *where, allowed);
    } else if (where->scheme == "redlock" && own && allowed == breadth::all) {
        done = use_own_quorum(made);
    } else if (where->scheme == "sqlite" && allowed != breadth::redis_and_memory) {
        done = use_file(made, *where);
    }
    const bool database = where->scheme.starts_with("postgres") || where->scheme == "mysql" ||
                          where->scheme == "mariadb" || where->scheme.starts_with("etcd") ||
                          where->scheme == "zookeeper";
    if (database && allowed == breadth::all) {
        made.of = kind::database;
        done = {};
    }
    if (!done) return std::unexpected(std::move(done.error()));
    if (!split) return made;
    if (made.owned.size() != 1) {
        return fail(
            errc::invalid_argument,
            "--cpus apart: there is no single server of ours to move; take --engine redis:");
    }
    done = split_processors(made.owned.front()->process_id());
    if (!done) return std::unexpected(std::move(done.error()));
    made.cpus = options.cpus;
    return made;
}

std::optional<std::uint64_t> commands_sent(const client& by) {
    const auto* redis = dynamic_cast<const redis_engine*>(by.commands().get());
    if (redis == nullptr) return std::nullopt;
    return redis->statistics().commands;
}

std::optional<server_account> bench_engine::account() const {
    if (servers.empty()) return std::nullopt;
    server_account all;
    for (const server_place& one : servers) {
        const auto seen = server_account::read(one);
        if (!seen) return std::nullopt;
        all.cpu_seconds += seen->cpu_seconds;
        all.commands += seen->commands;
    }
    return all;
}

// Those at the end of what is ours; the first is the reference's.
void bench_engine::hang(int count) const {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        ::kill(owned[owned.size() - 1 - i]->process_id(), SIGSTOP);
    }
}

double own_cpu_seconds() {
    return cpu_seconds_of(RUSAGE_SELF);
}

double children_cpu_seconds() {
    return cpu_seconds_of(RUSAGE_CHILDREN);
}

}  // namespace holdfast::app
