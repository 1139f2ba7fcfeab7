// SPDX-License-Identifier: Apache-2.0
//
// redis:, rediss:, redis+unix:, redis-sentinel: and redis-cluster:, with the options of the client
// (include/holdfast/redis/redis.hpp, redis_topology.hpp) and those of the locks: prefix,
// quarantine, replicas, replica_wait.
#include "lease/commands/command_lease_store.hpp"
#include "open/engines.hpp"
#include "open/url_options.hpp"

#include <holdfast/engine/span_text.hpp>
#include <holdfast/redis/redis_topology.hpp>

#include <charconv>
#include <memory>
#include <utility>

namespace holdfast::detail {

namespace {

// As long as the longest ttl of most: the mutex's default.
constexpr duration usual_quarantine = std::chrono::seconds(30);

// Behind Sentinel: a master that was cut off does not know that it was replaced, and only its
// replicas' silence keeps it from granting and renewing beside the next one. One replica and the
// master are a majority of three servers.
constexpr std::uint32_t usual_replicas = 1;

result<std::unique_ptr<redis_engine>> connect(const url& where, const client_options& options,
                                              const command_lease_options& leases) {
    if (where.scheme.ends_with("-cluster")) {
        auto target = parse_redis_cluster_url(where);
        if (!target) return std::unexpected(std::move(target.error()));
        return make_redis_cluster(std::move(*target), *options.time, *options.chance);
    }
    // Where grants are careful, they look after the fence themselves.
    const auto greet = [&](redis_options& o) {
        o.on_connect_commands.push_back(leases.careful() ? time_command() : raise_fence_command());
        o.on_connect_answer = [clocks = leases.clocks](const reply& answer, time_point sent,
                                                       time_point heard) {
            clocks->greet(answer, sent, heard);
        };
    };
    if (where.scheme.ends_with("-sentinel")) {
        auto target = parse_redis_sentinel_url(where);
        if (!target) return std::unexpected(std::move(target.error()));
        greet(target->options);
        return make_redis_sentinel(std::move(*target), *options.time, *options.chance);
    }
    auto target = parse_redis_url(where);
    if (!target) return std::unexpected(std::move(target.error()));
    greet(target->options);
    return make_redis(std::move(*target), *options.time, *options.chance);
}

// Takes the options of the locks out of the URL.
result<command_lease_options> lease_options(url& where) {
    command_lease_options leases;
    leases.clocks = std::make_shared<server_clocks>();
    if (auto prefix = take_option(where, "prefix")) leases.prefix = std::move(*prefix);
    const bool cluster = where.scheme.ends_with("-cluster");
    if (cluster) leases.scope = key_scope::slot;
    const bool sentinel = where.scheme.ends_with("-sentinel");
    if (cluster || sentinel) leases.quarantine = usual_quarantine;
    if (sentinel) leases.replicas = usual_replicas;
    const auto quarantine = take_quarantine(where, leases.quarantine);
    if (!quarantine) return std::unexpected(quarantine.error());
    leases.quarantine = *quarantine;
    if (const auto text = take_option(where, "replicas")) {
        const char* const end = text->data() + text->size();
        const auto [rest, problem] = std::from_chars(text->data(), end, leases.replicas);
        if (problem != std::errc{} || rest != end || leases.replicas > 100) {
            return wrong_option("replicas", "how many must confirm a grant, from 0 to 100");
        }
    }
    if (const auto text = take_option(where, "replica_wait")) {
        const auto span = parse_span(*text);
        if (!span || *span < std::chrono::milliseconds(1) || *span > std::chrono::minutes(1)) {
            return wrong_option("replica_wait", "a time from 1ms to 1m");
        }
        leases.replica_wait = *span;
    }
    return leases;
}

}  // namespace

result<opened_engine> open_redis(const url& where, const client_options& options) {
    url rest = where;
    auto leases = lease_options(rest);
    if (!leases) return std::unexpected(std::move(leases.error()));
    auto made = connect(rest, options, *leases);
    if (!made) return std::unexpected(std::move(made.error()));
    const std::shared_ptr<command_engine> engine = std::move(*made);
    return opened_engine{
        std::make_shared<command_lease_store>(engine, *options.chance, std::move(*leases)), engine};
}

}  // namespace holdfast::detail
