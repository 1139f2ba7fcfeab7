// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command/script_call.hpp"

#include <holdfast/decision.hpp>
#include <holdfast/limit.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

/// A rule in the numbers that its script takes, and its script's answers as decisions.
///
/// A bucket is counted in parts of a microsecond: a token costs `per_token` of them, and a
/// microsecond has `unit`. Both are reduced, so 10 per second is 100000 and 1. A rate that does not
/// go into whole microseconds, 3 per second, is 1000000 and 3: exact all the same. Only where exact
/// numbers would pass 2^52 is the cost of a token rounded up, by less than a millionth.
namespace holdfast::detail {

enum class limit_op : std::uint8_t { take, look, give };

/// What a single request may say beyond how many.
struct request_extra {
    /// How much later than at once a take may have its turn, in parts, if that is not the rule's.
    std::optional<std::int64_t> wait{};
    bool block = false;      ///< Tell when it was charged, by the server's time.
    std::int64_t floor = 0;  ///< Charge from this level at least, in parts: for blocks.
    /// Nothing is given back by what arrives later than this, by the server's time in microseconds.
    std::optional<std::int64_t> until{};
};

class limit_plan {
public:
    /// Requires: check(rule) holds.
    explicit limit_plan(const limit_rule& rule);

    [[nodiscard]] bool is_bucket() const noexcept { return kind_ == 'g'; }
    [[nodiscard]] bool is_fixed_window() const noexcept { return kind_ == 'f'; }
    /// What its key says that it is.
    [[nodiscard]] std::string_view kept_as() const noexcept { return kept_as_; }
    [[nodiscard]] std::uint64_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] const script& body() const noexcept { return *body_; }

    /// A time in the bucket's parts, rounded down.
    [[nodiscard]] std::int64_t parts_of(duration d) const noexcept;
    /// The most that a bucket can ever grant in one take with this wait.
    [[nodiscard]] std::uint64_t most_at_once(const request_extra& extra) const noexcept;
    /// The most parts that a bucket may owe without a wait.
    [[nodiscard]] std::int64_t full() const noexcept { return full_; }
    [[nodiscard]] std::int64_t cost(std::uint64_t n) const noexcept;

    /// The ARGV of the rule's own script.
    void put_own(script_call& q, limit_op op, std::uint64_t n, const request_extra& extra) const;
    /// A fixed window's, for a caller that knows when the window ends.
    void put_told(script_call& q, std::uint64_t n) const;
    /// The five ARGV of take_several.lua.
    void put_shared(script_call& q, limit_op op, std::uint64_t n) const;

    /// When a block was charged, by the server's time in microseconds; nothing if it was not.
    [[nodiscard]] std::optional<std::int64_t> charged_at(const reply& answered) const;

    /// Errors: corrupt, if that is no answer of the script.
    [[nodiscard]] result<decision> read(const reply& answered, limit_op op, std::uint64_t n,
                                        const request_extra& extra) const;

    /// The script's answer to one who took `n` behind `before` others, made of the answer to all of
    /// them, `total`, who were allowed together.
    [[nodiscard]] reply part_of(const reply& answered, std::uint64_t total, std::uint64_t before,
                                std::uint64_t n) const;

    /// How long a block that was just taken may be spent from; zero: never.
    [[nodiscard]] duration block_life(const decision& taken, duration wanted) const noexcept;

private:
    [[nodiscard]] std::int64_t bound(const request_extra& extra) const noexcept;
    [[nodiscard]] std::int64_t signed_cost(limit_op op, std::uint64_t n) const noexcept;
    [[nodiscard]] decision bucket_decision(std::int64_t level, limit_op op, std::uint64_t n,
                                           const request_extra& extra) const;
    [[nodiscard]] duration time_of(std::int64_t parts) const noexcept;

    char kind_;
    std::string_view kept_as_;
    const script* body_;
    std::uint64_t capacity_;
    // A bucket's.
    std::int64_t unit_ = 1;
    std::int64_t per_token_ = 0;
    std::int64_t full_ = 0;      ///< What it may owe for a turn at once.
    std::int64_t own_wait_ = 0;  ///< How long a leaky bucket's queue is.
    bool queues_ = false;        ///< It is a leaky one: nobody waits longer than that.
    // A window's: in milliseconds for a fixed one, of one part for a counter, else microseconds.
    std::int64_t window_ = 0;
    std::int64_t parts_ = 0;  ///< Of a counter; negative for unbiased.
};

}  // namespace holdfast::detail
