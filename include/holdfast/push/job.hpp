// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/push/counters.hpp>
#include <holdfast/push/log.hpp>
#include <holdfast/push/settings.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

/// Job: numbered consumers that take posts from the queue and broadcast rooms.
///
/// Each: dedup, cooldown, lock, route, send each Comet once, release. A room is broadcast by one
/// script that checks the lock's fence, reads the history behind the room's cursor, publishes the
/// frame, moves the cursor, begins the cooldown and acknowledges the entries: a consumer that is
/// killed at any line has done all of it or nothing.
namespace holdfast::push {

/// Where a consumer is, for tests that stop it there.
enum class job_step : std::uint8_t { received, looked, locked, broadcast, released, acknowledged };

struct job_options {
    /// Called by consumers before and after they talk to the engine. Whatever it throws ends that
    /// consumer at once, as a crash would: its lock is not given back, its entries stay pending.
    /// For tests.
    std::function<void(std::size_t consumer, job_step step, std::string_view room)> at_step = {};
};

/// Thread safety: all members may be called from any thread.
class job {
public:
    /// Does no I/O. Requires: as logic; `counts` may be null. The client should have its default
    /// prefix, so that locks are `lock:broadcast:R`. On Sentinel and Cluster open it with a
    /// quarantine= that is not longer than you want a room to wait after a failover: what a room's
    /// lock protects is fenced, and needs no quarantine.
    job(client& hf, settings s, log_sink log, counters* counts = nullptr, job_options options = {});

    /// As stop().
    ~job();
    job(const job&) = delete;
    job& operator=(const job&) = delete;

    /// Starts the consumers. They wait for an engine that is away, and come back after it was.
    /// Errors: invalid_argument (the settings). Blocks: never.
    [[nodiscard]] result<void> start();

    /// Ends the consumers: each finishes the room it is at, puts what it still has back into the
    /// queue for others, and goes. Blocks: until they are gone; at most about settings::timeout
    /// if the engine is away.
    void stop();

private:
    class impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace holdfast::push
