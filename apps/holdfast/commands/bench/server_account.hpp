// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>

#include <sys/types.h>

#include <cstdint>
#include <string>

/// What a Redis server says that it has done so far; the difference of two is what a run cost it.
namespace holdfast::app {

struct server_place {
    std::string host;
    std::uint16_t port = 0;
};

struct server_account {
    pid_t process_id = 0;
    double cpu_seconds = 0;
    double commands = 0;

    /// Errors: unavailable, if nobody answers INFO there.
    [[nodiscard]] static result<server_account> read(const server_place& where);
};

}  // namespace holdfast::app
