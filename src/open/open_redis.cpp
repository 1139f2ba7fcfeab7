// SPDX-License-Identifier: Apache-2.0
//
// redis:, rediss:, redis+unix: and redis-sentinel:, with the options of the client
// (include/holdfast/redis.hpp, redis_topology.hpp) and one of the locks: prefix, the text before
// each name in its key.
#include "engine/redis/command_lease_store.hpp"
#include "open/engines.hpp"

#include <holdfast/redis_topology.hpp>

#include <memory>
#include <utility>

namespace holdfast::detail {

namespace {

result<std::unique_ptr<redis_engine>> connect(const url& where, const client_options& options) {
    if (where.scheme.ends_with("-sentinel")) {
        auto target = parse_redis_sentinel_url(where);
        if (!target) return std::unexpected(std::move(target.error()));
        target->options.on_connect_commands.push_back(raise_fence_command());
        return make_redis_sentinel(std::move(*target), *options.time, *options.chance);
    }
    auto target = parse_redis_url(where);
    if (!target) return std::unexpected(std::move(target.error()));
    target->options.on_connect_commands.push_back(raise_fence_command());
    return make_redis(std::move(*target), *options.time, *options.chance);
}

}  // namespace

result<opened_engine> open_redis(const url& where, const client_options& options) {
    url rest = where;
    command_lease_options leases;
    if (auto prefix = take_option(rest, "prefix")) leases.prefix = std::move(*prefix);
    auto made = connect(rest, options);
    if (!made) return std::unexpected(std::move(made.error()));
    const std::shared_ptr<command_engine> engine = std::move(*made);
    return opened_engine{
        std::make_shared<command_lease_store>(engine, *options.chance, std::move(leases)), engine};
}

}  // namespace holdfast::detail
