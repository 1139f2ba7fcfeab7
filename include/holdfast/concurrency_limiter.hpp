// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/decision.hpp>
#include <holdfast/engine/command_access.hpp>
#include <holdfast/error.hpp>
#include <holdfast/names.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

/// At most so many at the same time, over all machines.
///
/// A permit is a lease: if its holder dies, it comes back when its ttl is over. It is not renewed
/// by itself; for work that takes longer than the ttl call renew(), and stop when that says
/// lease_lost. Nobody waits in line here: who is refused is told, and comes again or does not.
namespace holdfast {

struct concurrency_options {
    /// How many at the same time. 1 to 100,000.
    std::uint32_t permits = 0;

    /// How long a permit whose holder is never heard of again is missing. 10 ms to 24 h.
    duration ttl = std::chrono::seconds(30);

    std::string prefix = "concurrency:";
    duration timeout = std::chrono::seconds(1);
};

/// A place among those at work. Thread safety: one thread at a time; it may be moved.
class [[nodiscard]] permit {
public:
    permit(permit&& other) noexcept;
    permit& operator=(permit&& other) noexcept;
    permit(const permit&) = delete;
    permit& operator=(const permit&) = delete;
    /// Gives it back in the background; does not wait.
    ~permit();

    /// Is it ours, by our own clock, if nothing more is heard?
    [[nodiscard]] bool held() const noexcept;

    /// The whole ttl, from now. Errors: lease_lost (it ran out), unavailable, outcome_unknown, …
    /// Blocks: one trip.
    [[nodiscard]] result<void> renew();

    /// Gives it back and says how that went. In any case it is over.
    /// Errors: lease_lost (it had run out: more may have been at work than permits), …
    /// Blocks: one trip.
    [[nodiscard]] result<void> release() &&;

private:
    friend class concurrency_limiter;
    permit(command_access where, std::string key, owner_token owner,
           const concurrency_options& options, time_point until);
    void abandon() noexcept;

    command_access where_;
    std::string key_;
    owner_token owner_;
    duration ttl_;
    duration timeout_;
    time_point until_;
    bool out_ = true;
};

/// What enter() answers: the decision, and a permit if it allowed.
struct admission {
    decision answer;
    std::optional<permit> held;
};

/// Thread safety: all members may be called from any thread.
class concurrency_limiter {
public:
    /// Does no I/O.
    concurrency_limiter(command_access where, concurrency_options options);

    /// One more at work, if there is room. `retry_after` of a refusal is when the first permit runs
    /// out at the latest; it usually comes back earlier.
    /// Errors: invalid_argument (key or options), unsupported, corrupt, unavailable, timed_out;
    /// outcome_unknown: a permit may be missing for its ttl.
    /// Blocks: one trip, at most `timeout`.
    [[nodiscard]] result<admission> enter(std::string_view key);

private:
    command_access where_;
    concurrency_options options_;
};

}  // namespace holdfast
