// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/cache_options.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/entropy.hpp>

#include <atomic>
#include <mutex>

/// Stops asking what does not answer, and asks again now and then.
///
/// Closed: everybody may ask. After `failures` failures in a row it opens: nobody may. After a
/// pause (which doubles with each failed try, with jitter) it is half open: one may ask. If that
/// succeeds it closes, else it opens again. Pure: the caller says what time it is.
///
/// Thread safety: all members may be called from any thread.
namespace holdfast::detail {

class circuit_breaker {
public:
    circuit_breaker(const breaker_options& options, entropy& chance)
        : options_(options), chance_(&chance) {}

    /// May one ask now? True in half open makes this caller the one that tries: it must then say
    /// succeeded() or failed().
    [[nodiscard]] bool allows(time_point now);
    void succeeded();
    void failed(time_point now);

    [[nodiscard]] breaker_state state(time_point now) const;
    /// When the next one may try; in the past if it is closed.
    [[nodiscard]] time_point next_try() const;
    [[nodiscard]] std::uint64_t opened() const;

private:
    const breaker_options options_;
    entropy* chance_;
    std::atomic<bool> clean_ = true;  // closed, and no failure since: nothing to decide
    mutable std::mutex mutex_;
    int failures_ = 0;
    bool open_ = false;
    bool trying_ = false;  // half open, and one asks
    time_point until_{};
    duration pause_{};
    std::uint64_t opened_ = 0;
};

/// How many loads a second may reach the source while the cache is away: a bucket of tokens.
class load_limit {
public:
    load_limit(double per_second, double burst) : rate_(per_second), burst_(burst), level_(burst) {}
    [[nodiscard]] bool take(time_point now);

private:
    const double rate_;
    const double burst_;
    std::mutex mutex_;
    double level_;
    time_point filled_{};
};

}  // namespace holdfast::detail
