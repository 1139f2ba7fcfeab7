// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/bench/own_directory.hpp"

#include <holdfast/error.hpp>

#include <sys/types.h>

#include <cstdint>
#include <memory>

/// A redis-server that a measurement starts for itself, on a free port and in a temporary
/// directory.
///
/// Nothing is stored. It ends with this object, and if our process dies the kernel ends it.
namespace holdfast::app {

class own_server {
public:
    /// Answers when it serves. Errors: unavailable; the detail says what is missing.
    /// Requires: the thread that starts it outlives it; the kernel ties the child to that thread.
    [[nodiscard]] static result<std::unique_ptr<own_server>> start();
    own_server(const own_server&) = delete;
    own_server& operator=(const own_server&) = delete;
    ~own_server();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] pid_t process_id() const noexcept { return pid_; }

private:
    own_server(std::uint16_t port, own_directory directory)
        : port_(port), directory_(std::move(directory)) {}
    [[nodiscard]] result<void> spawn();
    [[nodiscard]] result<void> wait_until_it_serves();

    std::uint16_t port_;
    own_directory directory_;
    pid_t pid_ = -1;
};

}  // namespace holdfast::app
