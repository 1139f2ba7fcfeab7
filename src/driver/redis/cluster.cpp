// SPDX-License-Identifier: Apache-2.0
//
// The engine of a cluster: what it may be told, and cluster_core.
#include "driver/redis/cluster_core.hpp"
#include "driver/redis/fork_guard.hpp"

#include <holdfast/redis/redis_topology.hpp>

namespace holdfast {

// NOLINTNEXTLINE(performance-unnecessary-value-param): as make_redis() and the others
result<std::unique_ptr<redis_engine>> make_redis_cluster(redis_cluster_target target, clock& time,
                                                         entropy& chance) {
    if (target.seeds.empty()) return fail(errc::invalid_argument, "a cluster needs a node to ask");
    if (target.options.database != 0) {
        return fail(errc::invalid_argument, "db: a cluster has one database, number 0");
    }
    if (!target.options.on_connect_commands.empty()) {
        return fail(errc::invalid_argument,
                    "on_connect_commands: in a cluster no key is served by every node");
    }
    std::shared_ptr<redis::tls_context> tls;
    if (target.options.tls.enabled) {
        auto made = redis::tls_context::make(target.options.tls);
        if (!made) return std::unexpected(made.error());
        tls = std::move(*made);
    }
    return std::make_unique<redis::fork_guard<redis::cluster_core>>(
        std::make_shared<redis::cluster_core>(target, std::move(tls), time, chance));
}

}  // namespace holdfast
