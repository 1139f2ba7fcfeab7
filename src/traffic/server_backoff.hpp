// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <array>
#include <atomic>
#include <cstddef>

namespace holdfast::detail {

/// Until when servers that were found away are left alone, each apart: the keys of one that is gone
/// say nothing about the keys of another. Servers whose numbers differ by `cells` share one.
///
/// Thread safety: all members may be called from any thread.
class server_backoff {
public:
    static constexpr std::size_t cells = 64;

    /// Whether any server rests: the short way to no.
    [[nodiscard]] bool any(time_point now) const noexcept { return now < last_.load(relaxed); }
    [[nodiscard]] bool rests(std::size_t node, time_point now) const noexcept {
        return now < until_[node % cells].load(relaxed);
    }

    /// A rest that has begun is not made longer: it ends with somebody who asks.
    void rest(std::size_t node, time_point now, time_point until) noexcept {
        if (rests(node, now)) return;
        until_[node % cells].store(until, relaxed);
        time_point last = last_.load(relaxed);
        while (last < until && !last_.compare_exchange_weak(last, until, relaxed)) {
        }
    }

private:
    static constexpr auto relaxed = std::memory_order_relaxed;

    std::atomic<time_point> last_{};
    std::array<std::atomic<time_point>, cells> until_{};
};

}  // namespace holdfast::detail
