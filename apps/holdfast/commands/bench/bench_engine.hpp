// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/bench/bench.hpp"
#include "commands/bench/own_directory.hpp"
#include "commands/bench/own_server.hpp"
#include "commands/bench/server_account.hpp"

#include <holdfast/client.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

/// What a measurement runs on, and what it compares with.
///
///     memory:               the embedded engine; the reference runs on a redis-server of our own
///     redis:                a redis-server of our own, for both
///     redis://host[:port]   that server, for both
///     sqlite:[/path]        that file, or one of our own; the reference has another one beside it
///     postgresql://…        that database; the reference has a table of its own in it
///     mysql://…             the same
///     etcd://…              that cluster; the reference has keys of its own in it
///     zookeeper://…         that ensemble; the reference has nodes of its own in it
///     redlock:              five redis-servers of our own, and a sixth for the reference
///
/// Options of the URL may follow, as in redlock:?fence=off. The reference is a bare loop without
/// the client's comforts, so a server that wants TLS or a password is refused here.
namespace holdfast::app {

struct bench_engine {
    enum class kind : std::uint8_t { in_process, server, file, database, quorum };
    /// Which of them a measurement can run on.
    enum class breadth : std::uint8_t { redis_and_memory, no_quorum, all };

    std::string label;  ///< As it was asked for: "memory:".
    std::string url;    ///< What holdfast::open takes.
    kind of = kind::server;
    server_place reference{};             ///< Not for a file or a database.
    std::vector<server_place> servers{};  ///< The engine's, as far as they give account.
    std::vector<std::unique_ptr<own_server>> owned{};
    own_directory directory{};  ///< For a file.

    /// What figures say of the processors.
    std::optional<std::string> cpus{};

    /// Errors: invalid_argument, unavailable.
    [[nodiscard]] static result<bench_engine> make(const bench_options& options,
                                                   breadth allowed = breadth::redis_and_memory);

    /// What its servers have done so far, all together; nothing if there are none.
    [[nodiscard]] std::optional<server_account> account() const;

    /// Stops the last servers of a quorum: they stay connected, and are silent.
    void hang(int count) const;
};

/// How many commands a client has sent to a Redis so far; nothing if its engine is not one.
[[nodiscard]] std::optional<std::uint64_t> commands_sent(const client& by);

/// CPU seconds that this process has used, all threads; and those of its children that have ended.
[[nodiscard]] double own_cpu_seconds();
[[nodiscard]] double children_cpu_seconds();

}  // namespace holdfast::app
