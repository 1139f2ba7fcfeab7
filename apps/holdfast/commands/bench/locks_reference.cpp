// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/locks_reference.hpp"

#include "commands/bench/figure.hpp"
#include "commands/bench/file_by_hand.hpp"
#include "commands/bench/raw_pairs.hpp"

#include <holdfast/redis/redis.hpp>

#include <fmt/format.h>

namespace holdfast::app {
namespace {

/// What pairs cost a server, by its own account.
class server_bill {
public:
    explicit server_bill(const server_place& where)
        : where_(where), before_(server_account::read(where)), start_(system_clock().now()) {}

    [[nodiscard]] std::optional<double> each(double per_second) const {
        const double seconds = std::chrono::duration<double>(system_clock().now() - start_).count();
        const auto after = server_account::read(where_);
        if (!before_ || !after) return std::nullopt;
        return (after->cpu_seconds - before_->cpu_seconds) * 1e6 / (per_second * seconds);
    }

private:
    const server_place& where_;
    result<server_account> before_;
    time_point start_;
};

std::string redis_url(const server_place& where) {
    return fmt::format("redis://{}:{}", where.host, where.port);
}

}  // namespace

locks_reference::way locks_reference::chosen() const {
    using kind = bench_engine::kind;
    if (worker_group_.names > 1) return way::one_name;
    if (engine_.of == kind::quorum) return way::single_redis;
    if (engine_.of == kind::file) return way::by_hand_in_a_file;
    if (engine_.of == kind::database) return way::by_hand_in_a_database;
    const bool fills = worker_group_.worker_group.workers >= bench::workers_that_fill_a_pipeline;
    return engine_.of == kind::server && fills ? way::pipelined : way::blocking;
}

std::string locks_reference::name() const {
    switch (chosen()) {
        case way::one_name: return "one name, by Holdfast too";
        case way::single_redis: return "a single Redis, by Holdfast too";
        case way::by_hand_in_a_file:
            return fmt::format("prepared statements by hand, WAL, synchronous={}, unfenced",
                               synchronous_of(engine_.url));
        case way::by_hand_in_a_database:
            return fmt::format("{} by hand, {} connection{}, unfenced",
                               database_reference(engine_.url), worker_group_.worker_group.workers,
                               worker_group_.worker_group.workers == 1 ? "" : "s");
        case way::pipelined: return "redis-benchmark -c 64 -P 16, unfenced";
        case way::blocking: break;
    }
    return fmt::format("blocking hiredis, {} connection{}, unfenced",
                       worker_group_.worker_group.workers,
                       worker_group_.worker_group.workers == 1 ? "" : "s");
}

result<locks_reference::round> locks_reference::run() const {
    switch (chosen()) {
        case way::one_name: return one_name();
        case way::single_redis: return on_a_single_redis();
        case way::by_hand_in_a_file:
        case way::by_hand_in_a_database: return by_hand();
        case way::pipelined: return pipelined();
        case way::blocking: break;
    }
    return blocking();
}

result<locks_reference::round> locks_reference::of_ourselves(const std::string& url,
                                                             int names) const {
    lock_worker_options same = worker_group_;
    same.names = names;
    same.worker_group.when_ready = nullptr;
    auto seen = run_lock_workers(url, same);
    if (!seen) return std::unexpected(std::move(seen.error()));
    if (seen->done == 0) return fail(errc::unavailable, "no pair was done in a whole round");
    std::vector<float> pairs = seen->pair_us();
    return round{.per_second = static_cast<double>(seen->done) / seen->seconds,
                 .acquire_us = percentiles_of(seen->acquire_us).p50,
                 .pair_us = percentiles_of(pairs).p50};
}

result<locks_reference::round> locks_reference::one_name() const {
    auto ours = of_ourselves(engine_.url, 1);
    if (!ours || engine_.of != bench_engine::kind::server) return ours;
    return beside_blocking(*ours);
}

result<locks_reference::round> locks_reference::on_a_single_redis() const {
    auto ours = of_ourselves(redis_url(engine_.reference), worker_group_.names);
    if (!ours) return ours;
    return beside_blocking(*ours);
}

result<locks_reference::round> locks_reference::beside_blocking(round ours) const {
    const auto by_hand = blocking_pairs();
    if (!by_hand) return std::unexpected(by_hand.error());
    ours.by_hand_pair_us = by_hand->p50_us;
    return ours;
}

result<locks_reference::round> locks_reference::by_hand() const {
    const bench::pairs_options wanted{.workers = worker_group_.worker_group.workers,
                                      .length = worker_group_.worker_group.length};
    const auto r = chosen() == way::by_hand_in_a_file
                       ? pairs_by_hand_in_a_file(engine_, wanted)
                       : pairs_by_hand_in_a_database(engine_, wanted);
    if (!r) return std::unexpected(r.error());
    if (r->failures > 0 || r->pairs_per_second <= 0) {
        return fail(errc::unavailable, "the reference failed: " + r->first_failure);
    }
    return round{.per_second = r->pairs_per_second, .pair_us = r->p50_us};
}

// A bare connection for each worker, as one would write it by hand.
result<locks_reference::round> locks_reference::blocking() const {
    const server_bill bill(engine_.reference);
    const auto r = blocking_pairs();
    if (!r) return std::unexpected(r.error());
    return round{.per_second = r->pairs_per_second,
                 .server_cpu_us = bill.each(r->pairs_per_second)};
}

result<bench::pairs_result> locks_reference::blocking_pairs() const {
    const auto& [host, port] = engine_.reference;
    auto r = bench::pairs_by_blocking_pool(host, port,
                                           {.workers = worker_group_.worker_group.workers,
                                            .length = worker_group_.worker_group.length});
    if (r.failures > 0 || r.pairs_per_second <= 0) {
        return fail(errc::unavailable, "the reference's connection failed");
    }
    return r;
}

// What the server can do at most, by redis-benchmark; and what a plain pair costs it when it comes
// by the same client and as many threads.
result<locks_reference::round> locks_reference::pipelined() const {
    const auto& [host, port] = engine_.reference;
    auto raw = open_redis(redis_url(engine_.reference));
    if (!raw) return std::unexpected(std::move(raw.error()));
    const server_bill bill(engine_.reference);
    const auto r = bench::pairs_by_threads(**raw, {.workers = worker_group_.worker_group.workers,
                                                   .length = worker_group_.worker_group.length});
    const auto cpu = bill.each(r.pairs_per_second);
    if (r.failures > 0) return fail(errc::unavailable, r.first_failure);
    const auto limit = bench::benchmark_pair_limit(host, port);
    if (!limit) return std::unexpected(limit.error());
    return round{.per_second = *limit, .server_cpu_us = cpu};
}

}  // namespace holdfast::app
