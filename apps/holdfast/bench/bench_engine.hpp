// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/bench.hpp"
#include "bench/own_server.hpp"
#include "bench/server_account.hpp"

#include <holdfast/client.hpp>

#include <memory>
#include <optional>
#include <string>

/// What a measurement runs on, and the Redis that it compares with.
///
///     memory:               the embedded engine; the reference runs on a redis-server of our own
///     redis:                a redis-server of our own, for both
///     redis://host[:port]   that server, for both
///
/// The reference is a bare loop without the client's comforts, so a server that wants TLS or a
/// password is refused here.
namespace holdfast::app {

struct bench_engine {
    std::string label;  ///< As it was asked for: "memory:".
    std::string url;    ///< What holdfast::open takes.
    bool in_process = false;
    server_place reference;
    std::unique_ptr<own_server> owned{};

    /// What figures say of the processors.
    std::optional<std::string> cpus{};

    /// Errors: invalid_argument, unavailable.
    [[nodiscard]] static result<bench_engine> make(const bench_options& options);

    /// The server's account if the engine is a server.
    [[nodiscard]] std::optional<server_account> account() const;
};

/// How many commands a client has sent to a Redis so far; nothing if its engine is not one.
[[nodiscard]] std::optional<std::uint64_t> commands_sent(const client& by);

/// CPU seconds that this process has used, all threads; and those of its children that have ended.
[[nodiscard]] double own_cpu_seconds();
[[nodiscard]] double children_cpu_seconds();

}  // namespace holdfast::app
