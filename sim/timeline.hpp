// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

/// The one true time of a simulated world, and what will happen in it.
///
/// Events happen one after the other, in the order of their times; those of one time in the order
/// in which they were planned. Everything that happens goes into a hash: two runs with the same
/// hash were the same run.
namespace holdfast::sim {

using moment = std::chrono::nanoseconds;  ///< Since the world began.
using event = std::move_only_function<void()>;

class timeline {
public:
    [[nodiscard]] moment now() const noexcept { return now_; }
    [[nodiscard]] std::uint64_t happened() const noexcept { return happened_; }
    [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

    void at(moment when, event what) {
        queue_.push_back({when < now_ ? now_ : when, ++planned_, std::move(what)});
        std::push_heap(queue_.begin(), queue_.end(), later);
    }
    void after(moment wait, event what) { at(now_ + wait, std::move(what)); }

    /// Lets everything happen until `end`, at most `most` events in all. False if that bound ended
    /// it.
    bool run_until(moment end, std::uint64_t most) {
        while (!queue_.empty() && queue_.front().when <= end) {
            if (happened_ >= most) return false;
            std::pop_heap(queue_.begin(), queue_.end(), later);
            entry next = std::move(queue_.back());
            queue_.pop_back();
            now_ = next.when;
            ++happened_;
            mark(static_cast<std::uint64_t>(now_.count()));
            next.what();
        }
        now_ = end > now_ ? end : now_;
        return true;
    }

    /// Adds something that happened to the hash.
    void mark(std::uint64_t what) noexcept {
        hash_ = (hash_ ^ what) * 0x100000001B3U;
        hash_ ^= hash_ >> 29U;
    }

private:
    struct entry {
        moment when;
        std::uint64_t order;
        event what;
    };
    static bool later(const entry& a, const entry& b) noexcept {
        return a.when != b.when ? a.when > b.when : a.order > b.order;
    }

    moment now_{0};
    std::vector<entry> queue_;
    std::uint64_t planned_ = 0;
    std::uint64_t happened_ = 0;
    std::uint64_t hash_ = 0xCBF29CE484222325U;
};

}  // namespace holdfast::sim
