// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "resp/request_reader.hpp"

#include <holdfast/engine/command_engine.hpp>
#include <holdfast/error.hpp>
#include <holdfast/virtual_clock.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

/// Serves an embedded engine to Redis clients of other processes: redis-cli, redis-py, ioredis, or
/// our own `redis://`. On loopback, and on a unix socket if one is named.
///
/// RESP2 and RESP3 (HELLO 3), lines of words, pipelines, publish/subscribe with patterns and shard
/// channels, MULTI, WATCH, blocking commands, scripts, MONITOR. What the engine does not have is an
/// unknown command, as in Redis. Program and clients see the same keys; MONITOR shows the commands
/// of clients only.
///
/// Example:
///     auto server = resp_server::start(engine, {.port = 6379});
///     if (!server) return complain(server.error());
///     …
///     (*server)->stop();  // or its destructor
namespace holdfast {

struct resp_server_options {
    /// On 127.0.0.1; 0: a free one, see port().
    std::uint16_t port = 0;

    /// The path of a unix socket beside it; empty: none. What is there and is a socket that nobody
    /// serves is replaced.
    std::string unix_socket{};

    /// What AUTH must say; empty: nobody is asked.
    std::string password{};

    /// One more is told so and turned away.
    std::size_t connections = 1000;

    /// What one request may be.
    resp::request_limits requests{};

    /// What one client may have unread: beyond it, its connection ends.
    std::size_t output_bytes = std::size_t{64} * 1024 * 1024;

    /// The engine's clock, if clients may move it by HOLDFAST.ADVANCE; it must outlive the server.
    virtual_clock* advances = nullptr;
};

class resp_server {
public:
    /// Serves from a thread of its own, from now on.
    /// Errors: unsupported, if it is not an embedded engine; unavailable, if the port or the path
    /// cannot be had.
    [[nodiscard]] static result<std::unique_ptr<resp_server>> start(
        const std::shared_ptr<command_engine>& engine, const resp_server_options& options = {});

    /// Ends all connections and waits for its thread. May be called more than once.
    virtual void stop() = 0;
    virtual ~resp_server() = default;

    [[nodiscard]] virtual std::uint16_t port() const noexcept = 0;
};

}  // namespace holdfast
