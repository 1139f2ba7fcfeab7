// SPDX-License-Identifier: Apache-2.0
//
// redis:, rediss: and redis+unix:, with the options of the client (include/holdfast/redis.hpp) and one
// of the locks: prefix, the text before each name in its key.
#include "engine/redis/command_lease_store.hpp"
#include "open/engines.hpp"

#include <holdfast/redis.hpp>

namespace holdfast::detail {

result<std::shared_ptr<lease_store>> open_redis(const url& where, const client_options& options) {
    url rest = where;
    command_lease_options leases;
    if (auto prefix = take_option(rest, "prefix")) leases.prefix = std::move(*prefix);
    auto target = parse_redis_url(rest);
    if (!target) return std::unexpected(std::move(target.error()));
    target->options.on_connect_commands.push_back(raise_fence_command());
    auto engine = make_redis(std::move(*target), *options.time, *options.chance);
    if (!engine) return std::unexpected(std::move(engine.error()));
    return std::make_shared<command_lease_store>(std::move(*engine), *options.chance,
                                                 std::move(leases));
}

}  // namespace holdfast::detail
