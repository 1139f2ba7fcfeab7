// SPDX-License-Identifier: Apache-2.0
#include "conformance/command_seam/command_seam.hpp"
#include "support/redis_cluster_group.hpp"

#include <holdfast/redis/redis.hpp>

namespace holdfast::test {
namespace {

// Started by the first case, ended with the program.
std::shared_ptr<command_engine> open_shared() {
    static redis_cluster_group servers;
    return open_redis(servers.url()).value();
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(redis_cluster, command_seam,
                         testing::Values(command_engine_factory{
                             "redis_cluster", open_shared,
                             command_engine_factory::counted::own_node}));

}  // namespace holdfast::test
