// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_access.hpp>
#include <holdfast/error.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

/// A leaky bucket that holds requests: what comes in bursts goes out at a fixed rate.
///
///     holdfast::leaky_queue mails(hf, "mails", {.capacity = 500, .every = 100ms});
///     auto put = mails.put("to ana");
///     if (put && !put->accepted) return too_many();
///     // in a worker, on any machine:
///     auto ended = mails.drain([&](std::string_view mail) { return send(mail); }, stop);
///
/// The requests are a list on the engine, at most `capacity`. Any number of workers may call
/// drain(): one at a time works, under a lease, and if it dies another one goes on. The rate is
/// kept by the engine's clock, whoever works. A request stays in the list until its handler has
/// returned; so it is handled at least once, and twice if a worker died in between or took longer
/// than the lease. To hold nothing back and only decide, use rate_limiter with a leaky_bucket.
namespace holdfast {

struct leaky_queue_options {
    /// The most requests that wait. 1 to 1,000,000.
    std::size_t capacity = 1000;
    /// One request leaves each time this has passed.
    duration every = std::chrono::milliseconds(100);
    /// A worker that does not come back for this long is taken for dead. Longer than the handler
    /// takes.
    duration lease = std::chrono::seconds(30);
    /// A request whose handler failed this often is dropped. 1 to 1000.
    int attempts = 3;
    /// How long requests are kept after the last one came or went.
    duration life = std::chrono::days(1);
    /// The largest request. At most 64 MiB.
    std::size_t max_bytes = std::size_t{1} << 20U;
    std::string prefix = "leaky:";
    /// How long the engine may take to answer.
    duration timeout = std::chrono::seconds(1);
};

struct leaky_put {
    bool accepted = false;  ///< False: it is full, and the request was not taken.
    std::uint64_t waiting = 0;
    /// When it will leave, if a worker works.
    duration leaves_in{};
};

struct leaky_drained {
    std::uint64_t handled = 0;
    std::uint64_t failed = 0;   ///< Attempts that failed.
    std::uint64_t dropped = 0;  ///< Requests that failed `attempts` times.
};

/// Thread safety: all members may be called from any thread.
class leaky_queue {
public:
    using handler = std::function<result<void>(std::string_view request)>;

    /// Does no I/O; bad arguments are told by the first call.
    leaky_queue(command_access where, std::string_view name, leaky_queue_options options = {});

    /// Errors: invalid_argument (name, options, a request that is too large), unsupported, corrupt;
    /// the engine's; outcome_unknown: perhaps taken.
    /// Blocks: one trip, at most `timeout`.
    [[nodiscard]] result<leaky_put> put(std::string_view request);

    /// How many requests wait.
    [[nodiscard]] result<std::uint64_t> size();

    /// Works until the stop token fires: hands each request to `handle`, on this thread, at the
    /// rate. While another worker works it waits for its turn. What `handle` throws counts as a
    /// failure.
    /// Errors: as put(); the engine's, when it is away: call it again.
    /// Blocks: until stopped. Cancellation: at once, and after the handler that runs.
    [[nodiscard]] result<leaky_drained> drain(const handler& handle, const std::stop_token& stop);

private:
    struct step;
    [[nodiscard]] result<void> ready() const;
    [[nodiscard]] result<step> take(std::string_view token, std::string_view outcome);

    command_access where_;
    std::string name_;
    std::string list_;
    std::string state_;
    leaky_queue_options options_;
};

}  // namespace holdfast
