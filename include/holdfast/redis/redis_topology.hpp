// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/redis/redis.hpp>

#include <string>
#include <vector>

/// Redis on more than one server: a master that Sentinel watches, and a Cluster.
///
///     redis-sentinel://[user[:password]@]h1[:26379],h2,h3/NAME[/db][?options]
///     redis-cluster://[user[:password]@]h1[:6379],h2,h3[?options]
///
/// With `rediss-sentinel` and `rediss-cluster` every connection is TLS. The options are those of
/// redis.hpp. User and password are for the servers; the Sentinels have their own, by the same
/// options prefixed with `sentinel_`: sentinel_user, sentinel_password_file,
/// sentinel_ca_file, sentinel_connect_timeout … (500 ms each for connect and reply, by default).
///
/// Limits. Replication is asynchronous: a failover may lose writes that were acknowledged. Until a
/// client's Sentinels know of a failover, it keeps writing to the old master; a check every
/// second bounds that for a master that was cut off and is back. WAIT and min-replicas-to-write
/// close the rest.
namespace holdfast {

struct redis_sentinel_target {
    std::vector<server_address> sentinels;
    std::string master;  ///< The name that the sentinels know it by.
    redis_options options;
    redis_options sentinel_options;
    /// How often the sentinels are asked whether the master is still the one we write to.
    duration check_every = std::chrono::seconds(1);
};

/// Errors: invalid_argument; the detail names the part or the option, never a value.
[[nodiscard]] result<redis_sentinel_target> parse_redis_sentinel_url(const url& parsed);

/// An engine on the master. Each new connection goes where the sentinels say, and is used only if
/// ROLE answers "master". A command that a demoted master refused (READONLY) is carried out by the
/// new one inside the same call.
/// Errors: invalid_argument, if a certificate cannot be read.
/// Requires: as make_redis().
[[nodiscard]] result<std::unique_ptr<redis_engine>> make_redis_sentinel(
    redis_sentinel_target target, clock& time = system_clock(), entropy& chance = system_entropy());

struct redis_cluster_target {
    std::vector<server_address>
        seeds;  ///< Nodes to ask for the others. One that answers is enough.
    redis_options options;
    /// How often the slot map is read again, besides when a node reports that it is wrong.
    duration refresh_every = std::chrono::seconds(10);
};

/// Errors: invalid_argument; the detail names the part or the option, never a value.
[[nodiscard]] result<redis_cluster_target> parse_redis_cluster_url(const url& parsed);

/// An engine on all nodes: a command goes to the node of its key, a batch to all of its nodes at
/// once. A command or a transaction whose keys are in different slots is invalid_argument, before
/// anything is sent. Commands without a key go to any one node.
/// Errors: invalid_argument (a certificate cannot be read; on_connect_commands, which could not
/// name a key that every node serves; a database other than 0).
/// Requires: as make_redis().
[[nodiscard]] result<std::unique_ptr<redis_engine>> make_redis_cluster(
    redis_cluster_target target, clock& time = system_clock(), entropy& chance = system_entropy());

}  // namespace holdfast
