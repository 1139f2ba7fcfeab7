// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/names.hpp>

#include <array>
#include <atomic>
#include <functional>

/// Which names others wanted lately.
///
/// Only a hint: a name that is remembered is asked for the full way at once, which saves the trip
/// that the fast path would lose. Two names in one slot of the table cost a little time, nothing
/// else.
namespace holdfast {

class contention_memory {
public:
    void note(const lock_name& name, time_point now) noexcept {
        const duration::rep until = (now + remembered).time_since_epoch().count();
        slot(name).store(until, std::memory_order_relaxed);
        latest_.store(until, std::memory_order_relaxed);
    }
    [[nodiscard]] bool recent(const lock_name& name, time_point now) const noexcept {
        const duration::rep at = now.time_since_epoch().count();
        if (at >= latest_.load(std::memory_order_relaxed)) return false;  // no name is
        return at < slot(name).load(std::memory_order_relaxed);
    }

private:
    static constexpr duration remembered = std::chrono::seconds(5);
    using slots = std::array<std::atomic<duration::rep>, 1024>;

    [[nodiscard]] static std::size_t index(const lock_name& name) noexcept {
        return std::hash<std::string_view>{}(name.value()) % std::tuple_size_v<slots>;
    }
    [[nodiscard]] slots::value_type& slot(const lock_name& name) noexcept {
        return until_[index(name)];
    }
    [[nodiscard]] const slots::value_type& slot(const lock_name& name) const noexcept {
        return until_[index(name)];
    }

    static constexpr duration::rep never = time_point::min().time_since_epoch().count();

    slots until_{};
    std::atomic<duration::rep> latest_ = never;
};

}  // namespace holdfast
