// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "process/descriptor.hpp"

#include <holdfast/error.hpp>

#include <cstdint>
#include <string>

/// Sockets that wait for clients: on loopback, and on a path.
namespace holdfast::resp {

struct listen_socket {
    app::descriptor fd;
    std::uint16_t port = 0;  ///< Of TCP.
    std::string path{};      ///< Of a unix socket.
};

/// Errors: unavailable, with what to do.
[[nodiscard]] result<listen_socket> listen_on_loopback(std::uint16_t port);

/// Only this user may connect to it. A socket that is there and that nobody serves is replaced.
/// Errors: unavailable; invalid_argument if the path is too long for a socket.
[[nodiscard]] result<listen_socket> listen_on_path(const std::string& path);

/// A client that came; not open if none is there. `out_of_files` is set if the process has no
/// descriptor left for it.
[[nodiscard]] app::descriptor accept_client(const listen_socket& from, bool& out_of_files);

/// "127.0.0.1:50100"; for a unix socket, its path and ":0" as Redis shows it.
[[nodiscard]] std::string remote_address(const app::descriptor& client, const listen_socket& by);
[[nodiscard]] std::string local_address(const listen_socket& by);

}  // namespace holdfast::resp
