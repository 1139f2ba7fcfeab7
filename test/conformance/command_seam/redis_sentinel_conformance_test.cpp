// SPDX-License-Identifier: Apache-2.0
#include "conformance/command_seam/command_seam.hpp"
#include "support/redis_sentinel_group.hpp"

#include <holdfast/redis/redis.hpp>

namespace holdfast::test {
namespace {

// Started by the first case, ended with the program.
std::shared_ptr<command_engine> open_shared() {
    static redis_sentinel_group servers;
    return open_redis(servers.url()).value();
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(redis_sentinel, command_seam,
                         testing::Values(command_engine_factory{"redis_sentinel", open_shared}));

}  // namespace holdfast::test
