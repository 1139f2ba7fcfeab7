// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traffic/coalescer.hpp"
#include "traffic/decision_cache.hpp"
#include "traffic/limit_plan.hpp"
#include "traffic/local_share.hpp"
#include "traffic/server_backoff.hpp"
#include "traffic/token_blocks.hpp"

#include <holdfast/rate_limiter.hpp>

#include <atomic>
#include <memory>
#include <optional>

/// What a rate_limiter is inside: who answers a take, in this order.
///
///     more than there ever is    -> never, without asking
///     a refusal that still holds -> the book, without asking
///     a block of tokens          -> the block, without asking
///     else                       -> the engine, together with others who ask for the key
///     the engine is away         -> the policy
namespace holdfast::detail {

/// Thread safety: all members may be called from any thread.
class limiter_core {
public:
    limiter_core(command_access where, std::vector<limit> limits, rate_limiter_options options,
                 bool named);

    [[nodiscard]] result<decision> take(std::string_view key, std::uint64_t n);
    [[nodiscard]] result<decision> ask_always(std::string_view key, limit_op op, std::uint64_t n);
    [[nodiscard]] result<decision> reserve(std::string_view key, std::uint64_t n,
                                           duration max_wait);
    [[nodiscard]] const std::vector<limit>& limits() const noexcept { return limits_; }
    [[nodiscard]] rate_limiter_statistics statistics() const;
    [[nodiscard]] result<void> return_blocks();
    void abandon_blocks() noexcept;

private:
    [[nodiscard]] result<void> check_all() const;
    [[nodiscard]] result<void> check_names() const;
    [[nodiscard]] result<void> check_block() const;
    [[nodiscard]] result<void> fit(std::string_view key, std::uint64_t n) const;
    [[nodiscard]] std::optional<decision> more_than_ever(std::uint64_t n) const;

    [[nodiscard]] result<decision> take_through_block(std::string_view key, std::uint64_t n);
    [[nodiscard]] result<decision> give_back(std::string_view key, std::uint64_t n,
                                             std::optional<std::int64_t> until);
    [[nodiscard]] result<decision> take_alone(std::string_view key, std::uint64_t n);
    [[nodiscard]] result<decision> take_together(std::string_view key, std::uint64_t n);
    [[nodiscard]] result<decision> exchange(std::string_view key, limit_op op, std::uint64_t n,
                                            const request_extra& extra);
    /// What the one limit's script said, and what was known before.
    struct heard {
        reply answer;
        time_point sent;
        std::optional<duration> window_left;
    };
    [[nodiscard]] result<heard> ask_one(std::string_view key, limit_op op, std::uint64_t n,
                                        const request_extra& extra, time_point give_up);
    [[nodiscard]] result<decision> read_one(std::string_view key, const heard& said, limit_op op,
                                            std::uint64_t n, const request_extra& extra);
    [[nodiscard]] result<decision> exchange_several(std::string_view key, limit_op op,
                                                    std::uint64_t n);
    [[nodiscard]] time_point give_up() const noexcept;
    [[nodiscard]] decision binding_of(std::vector<decision> all) const;
    [[nodiscard]] key_text key_of(std::string_view key, std::size_t i) const;
    [[nodiscard]] std::size_t node_of(std::string_view key) const;
    [[nodiscard]] bool resting(std::string_view key) const;
    [[nodiscard]] result<decision> when_gone(std::string_view key, std::uint64_t n, error why);
    void count(const decision& made) noexcept;
    static void add(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) noexcept {
        counter.fetch_add(by, std::memory_order_relaxed);
    }

    const command_access where_;
    const std::vector<limit> limits_;
    const rate_limiter_options options_;
    const bool named_;
    const result<void> good_;
    std::vector<limit_plan> plans_;
    std::uint64_t least_capacity_ = 0;
    decision_cache book_;
    std::optional<token_blocks> blocks_;
    std::optional<local_share> share_;
    coalescer<result<heard>> coalescer_;
    server_backoff away_;

    struct counters {
        std::atomic<std::uint64_t> allowed = 0;
        std::atomic<std::uint64_t> refused = 0;
        std::atomic<std::uint64_t> asked = 0;
        std::atomic<std::uint64_t> together = 0;
        std::atomic<std::uint64_t> from_memory = 0;
        std::atomic<std::uint64_t> from_block = 0;
        std::atomic<std::uint64_t> blocks = 0;
        std::atomic<std::uint64_t> given_back = 0;
        std::atomic<std::uint64_t> away = 0;
        std::atomic<std::uint64_t> away_allowed = 0;
        std::atomic<std::uint64_t> away_refused = 0;
    };
    counters count_;
};

}  // namespace holdfast::detail
