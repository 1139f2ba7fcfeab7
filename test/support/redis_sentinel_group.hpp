// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/redis_server.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

/// A master, two replicas and the three sentinels that watch them.
namespace holdfast::test {

struct sentinel_options {
    /// How long a server is silent before a sentinel calls it down. Long, because on a busy machine
    /// a server that lives is silent for seconds, and who did not ask for a failover wants none.
    std::chrono::milliseconds down_after{30'000};
    /// For the three data servers.
    redis_options server;
    /// For the three sentinels.
    redis_options sentinel;
};

/// Complete when the constructor returns: every sentinel knows the two others and both replicas.
/// Throws std::runtime_error with the log of what did not start.
class redis_sentinel_group {
public:
    explicit redis_sentinel_group(const sentinel_options& options = {});
    /// For a case that ends or pauses the master and waits for the next one.
    explicit redis_sentinel_group(std::chrono::milliseconds down_after)
        : redis_sentinel_group({.down_after = down_after, .server = {}, .sentinel = {}}) {}

    [[nodiscard]] std::string master_name() const { return "holdfast"; }
    /// redis-sentinel://127.0.0.1:a,127.0.0.1:b,127.0.0.1:c/holdfast; rediss-sentinel: and the
    /// servers' password where they are used.
    [[nodiscard]] std::string url() const;

    /// The port that a sentinel names as the master's now.
    [[nodiscard]] std::uint16_t master_port();
    /// That server. Throws when the sentinels name a port that is not one of ours.
    [[nodiscard]] redis_server& master();

    /// Orders a failover and waits until all sentinels name another server, which is a master.
    void failover();
    /// Waits until all sentinels name a master other than `old`, and it accepts writes.
    void await_master_other_than(std::uint16_t old,
                                 std::chrono::milliseconds at_most = std::chrono::seconds(30));

    [[nodiscard]] std::vector<std::unique_ptr<redis_server>>& servers() { return servers_; }
    [[nodiscard]] std::vector<std::unique_ptr<redis_server>>& sentinels() { return sentinels_; }

private:
    [[nodiscard]] std::uint16_t master_port_by(redis_server& sentinel);

    std::string authority_;  ///< What url() begins with.
    std::vector<std::unique_ptr<redis_server>> servers_;
    std::vector<std::unique_ptr<redis_server>> sentinels_;
};

}  // namespace holdfast::test
