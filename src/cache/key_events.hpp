// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>

/// "Something happened to this key": for those who wait for another process's load.
///
/// Whoever is about to look at the engine takes the key's mark first. If it then has to wait, it
/// waits only while the mark is the same: what happened between the look and the wait is not
/// missed. Keys share 256 marks, so a wake may be another key's: look again.
///
/// Thread safety: all members may be called from any thread.
namespace holdfast::detail {

class key_events {
public:
    [[nodiscard]] std::uint64_t mark(std::string_view key) {
        return stripe_of(key).mark.load(std::memory_order_acquire);
    }
    void tell(std::string_view key) { tell(stripe_of(key)); }
    void tell_all() {
        for (stripe& at : stripes_) tell(at);
    }
    /// Blocks: until the key's mark differs from `seen`, or `until` has come.
    void wait(std::string_view key, std::uint64_t seen, clock& time, time_point until) {
        stripe& at = stripe_of(key);
        std::unique_lock held(at.mutex);
        while (at.mark == seen && time.now() < until) time.wait_until(held, at.told, until);
    }

private:
    struct stripe {
        std::mutex mutex;
        std::condition_variable told;
        std::atomic<std::uint64_t> mark = 0;  // changed under the mutex
    };

    static void tell(stripe& at) {
        {
            const std::scoped_lock guard(at.mutex);
            ++at.mark;
        }
        at.told.notify_all();
    }
    stripe& stripe_of(std::string_view key) {
        return stripes_[std::hash<std::string_view>{}(key) % stripes_.size()];
    }

    std::array<stripe, 256> stripes_;
};

}  // namespace holdfast::detail
