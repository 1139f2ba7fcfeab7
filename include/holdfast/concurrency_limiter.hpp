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

/// Limits how many run at the same time, over all machines.
///
/// A permit is a lease: if its holder dies, it is free again after its ttl. It is not renewed
/// automatically; for work that takes longer than the ttl call renew(), and stop when that returns
/// lease_lost. There is no queue: a refused caller retries, or does not.
namespace holdfast {

struct concurrency_options {
    /// The number of permits. 1 to 100,000.
    std::uint32_t permits = 0;

    /// How long a dead holder's permit is missing. 10 ms to 24 h.
    duration ttl = std::chrono::seconds(30);

    std::string prefix = "concurrency:";
    duration timeout = std::chrono::seconds(1);
};

/// One permit. Thread safety: one thread at a time; it may be moved.
class [[nodiscard]] permit {
public:
    permit(permit&& other) noexcept;
    permit& operator=(permit&& other) noexcept;
    permit(const permit&) = delete;
    permit& operator=(const permit&) = delete;
    /// Releases it in the background; does not wait.
    ~permit();

    /// Returns whether it is valid, by this machine's clock.
    [[nodiscard]] bool held() const noexcept;

    /// Extends it to the whole ttl from now. Errors: lease_lost (it ran out), unavailable,
    /// outcome_unknown, …
    /// Blocks: one trip.
    [[nodiscard]] result<void> renew();

    /// Releases it and returns the outcome. In any case it is over.
    /// Errors: lease_lost (it had expired: more holders than permits may have run), …
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

/// The result of enter(): the decision, and a permit if it allowed.
struct admission {
    decision answer;
    std::optional<permit> held;
};

/// Thread safety: all members may be called from any thread.
class concurrency_limiter {
public:
    /// Does no I/O.
    concurrency_limiter(command_access where, concurrency_options options);

    /// Takes a permit, if one is free. `retry_after` of a refusal is when the first permit expires
    /// at the latest; it is usually released earlier.
    /// Errors: invalid_argument (key or options), unsupported, corrupt, unavailable, timed_out;
    /// outcome_unknown: a permit may be missing for its ttl.
    /// Blocks: one trip, at most `timeout`.
    [[nodiscard]] result<admission> enter(std::string_view key);

private:
    command_access where_;
    concurrency_options options_;
};

}  // namespace holdfast
