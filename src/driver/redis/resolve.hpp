// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/redis/deadline_wait.hpp"

#include <holdfast/redis/redis.hpp>

#include <sys/socket.h>

#include <vector>

/// From a server's name to socket addresses, within a deadline.
namespace holdfast::redis {

struct socket_address {
    sockaddr_storage storage{};
    socklen_t size = 0;
};

/// Errors: unavailable (no such name, resolver too slow), timed_out never: the caller's deadline is
/// the connection's, so a slow resolver is an unreachable server.
[[nodiscard]] result<std::vector<socket_address>> resolve(const server_address& address,
                                                          time_point deadline, clock& time,
                                                          const patience& go_on);

}  // namespace holdfast::redis
