// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_access.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/// Two small things that are often written with a race: a number that is taken from and never goes
/// below zero, and a value that the first who asks for it sets.
namespace holdfast {

struct stock_options {
    /// How long a number stays after it was set or taken from.
    duration life = std::chrono::days(30);
    std::string prefix = "stock:";
    /// How long the engine may take to answer.
    duration timeout = std::chrono::seconds(1);
};

/// What became of a take.
struct stock_taken {
    bool taken = false;  ///< False: there was not enough, and nothing was taken.
    std::int64_t left = 0;
};

/// How many there are of something, under the plain key prefix + name: `GET` shows it, and a `SET`
/// of another program takes effect.
///
///     holdfast::stock tickets(hf, "concert-7");
///     auto filled = tickets.set(100);
///     auto mine = tickets.take(2);
///     if (mine && mine->taken) sell();
///
/// Thread safety: all members may be called from any thread.
class stock {
public:
    /// Does no I/O; bad arguments are told by the first call.
    stock(command_access where, std::string_view name, stock_options options = {});

    /// Errors: invalid_argument (name, options, a number below zero or above 2^53), unsupported,
    /// corrupt (the key holds no number); the engine's.
    /// Blocks: one trip, at most `timeout`; so do all others.
    [[nodiscard]] result<void> set(std::int64_t count);

    /// Takes n, or nothing. A name that was never set has none.
    /// Errors: as set(); outcome_unknown: perhaps taken. n is 1 to 2^53.
    [[nodiscard]] result<stock_taken> take(std::int64_t n = 1);

    /// Puts n back. Answers how many there are then. Errors: as take(); lease_lost: it was never
    /// set, or its life is over.
    [[nodiscard]] result<std::int64_t> put_back(std::int64_t n = 1);

    [[nodiscard]] result<std::int64_t> left();

private:
    [[nodiscard]] result<void> ready(std::int64_t n) const;

    command_access where_;
    std::string name_;
    std::string key_;
    stock_options options_;
};

/// The value of a plain key; if there is none, `value` becomes it, for `life`. In one step: of two
/// that ask at the same time both are answered the same. `key` is the whole Redis key.
/// Errors: invalid_argument, unsupported, corrupt (the key is no string); the engine's.
/// Blocks: one trip, at most `timeout`.
[[nodiscard]] result<std::string> get_or_set(const command_access& where, std::string_view key,
                                             std::string_view value, duration life,
                                             duration timeout = std::chrono::seconds(1));

}  // namespace holdfast
