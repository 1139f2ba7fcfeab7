// SPDX-License-Identifier: Apache-2.0
#include "linearize.hpp"

#include <algorithm>
#include <compare>
#include <numeric>
#include <set>
#include <string>

namespace holdfast::sim {
namespace {

struct lock_state {
    std::uint64_t holder = 0;  ///< 0: free.
    std::uint64_t fence = 0;
};

std::optional<lock_state> after(const lock_state& now, const lock_operation& op) {
    switch (op.what) {
        case lock_operation::kind::acquire:
            if (now.holder != 0) return std::nullopt;
            if (op.fence != 0 && op.fence <= now.fence) return std::nullopt;
            return lock_state{op.holder, op.fence != 0 ? op.fence : now.fence};
        case lock_operation::kind::end:
            if (now.holder != op.holder) return std::nullopt;
            return lock_state{0, now.fence};
        case lock_operation::kind::refused:
            if (now.holder == 0 || now.holder == op.holder) return std::nullopt;
            return now;
    }
    return std::nullopt;
}

/// Operations are known by their place in the order of their calls. What has taken effect is a
/// prefix of that order, from `first_left` on a few of those behind it; so a history of many
/// thousand operations is searched in the time and the memory that its overlaps need.
class search {
public:
    search(const std::vector<lock_operation>& all, std::size_t most)
        : all_(all), order_(all.size()), done_(all.size(), '0'), most_(most) {
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return all_[i].called; });
        left_ = static_cast<std::size_t>(std::ranges::count_if(all, &lock_operation::must_happen));
    }

    linearization run() {
        linearization found;
        found.possible = explore({});
        found.given_up = visited_.size() >= most_;
        if (found.given_up) found.possible = true;
        if (!found.possible) found.stuck_at = stuck_;
        return found;
    }

private:
    /// How far the search has come.
    struct progress {
        std::size_t first_left = 0;  ///< Nothing before this place can happen any more.
        std::size_t end = 0;         ///< Behind the last that has happened.
        std::size_t count = 0;
    };
    struct configuration {
        std::size_t first_left;
        std::string done;  ///< From there to the end.
        std::uint64_t holder;
        std::uint64_t fence;
        auto operator<=>(const configuration&) const = default;
    };

    [[nodiscard]] const lock_operation& at(std::size_t place) const { return all_[order_[place]]; }

    /// It had returned when the last that has happened was called.
    [[nodiscard]] bool is_past(std::size_t place, const progress& now) const {
        return now.end > 0 && at(place).returned < at(now.end - 1).called;
    }

    [[nodiscard]] progress moved_on(progress now) const {
        while (now.first_left < done_.size() &&
               (done_[now.first_left] == '1' ||
                (!at(now.first_left).must_happen && is_past(now.first_left, now)))) {
            ++now.first_left;
        }
        return now;
    }

    // Operations that may come next: those that were called before any that is left had returned.
    // Those that must happen come first.
    [[nodiscard]] std::vector<std::size_t> candidates(const progress& now) const {
        moment horizon = moment::max();
        std::vector<std::size_t> next;
        for (std::size_t i = now.first_left; i < done_.size() && at(i).called <= horizon; ++i) {
            if (done_[i] == '1') continue;
            if (at(i).must_happen) horizon = std::min(horizon, at(i).returned);
            if (at(i).must_happen || !is_past(i, now)) next.push_back(i);
        }
        std::erase_if(next, [&](std::size_t i) { return at(i).called > horizon; });
        std::ranges::stable_partition(next, [&](std::size_t i) { return at(i).must_happen; });
        return next;
    }

    [[nodiscard]] bool is_new(const progress& so_far, const lock_state& now) {
        const std::size_t span =
            so_far.end > so_far.first_left ? so_far.end - so_far.first_left : 0;
        return visited_
            .insert(
                {so_far.first_left, done_.substr(so_far.first_left, span), now.holder, now.fence})
            .second;
    }

    /// What has happened so far, and which of the operations that may come next were tried.
    struct place_in_search {
        lock_state now;
        progress so_far;
        std::vector<std::size_t> next;
        std::size_t tried = 0;
    };

    /// False: it was seen before, or there were too many.
    bool enter(const lock_state& now, const progress& so_far) {
        if (visited_.size() >= most_) return false;
        const progress here = moved_on(so_far);
        if (!is_new(here, now)) return false;
        path_.push_back({now, here, candidates(here)});
        return true;
    }

    void mark(std::size_t i, bool happened) {
        done_[i] = happened ? '1' : '0';
        const std::size_t one = at(i).must_happen ? 1 : 0;
        left_ = happened ? left_ - one : left_ + one;
    }

    void leave() {
        const place_in_search& here = path_.back();
        if (here.so_far.count >= furthest_) {
            furthest_ = here.so_far.count;
            stuck_.clear();
            for (const std::size_t i : here.next) stuck_.push_back(order_[i]);
        }
        path_.pop_back();
        if (!path_.empty()) mark(path_.back().next[path_.back().tried - 1], false);
    }

    // Without recursion: a history of a fault lab is deeper than a thread's stack.
    bool explore(const lock_state& first) {
        if (left_ == 0) return true;
        enter(first, {});
        while (!path_.empty()) {
            place_in_search& here = path_.back();
            if (here.tried == here.next.size()) {
                leave();
                continue;
            }
            const std::size_t i = here.next[here.tried++];
            const auto then = after(here.now, at(i));
            if (!then) continue;
            mark(i, true);
            if (left_ == 0) return true;
            const progress so_far = {here.so_far.first_left, std::max(here.so_far.end, i + 1),
                                     here.so_far.count + 1};
            if (!enter(*then, so_far)) mark(i, false);
        }
        return false;
    }

    const std::vector<lock_operation>& all_;
    std::vector<std::size_t> order_;
    std::string done_;  // by place
    std::size_t most_;
    std::size_t left_ = 0;
    std::size_t furthest_ = 0;
    std::vector<std::size_t> stuck_;
    std::set<configuration> visited_;
    std::vector<place_in_search> path_;
};

}  // namespace

linearization linearize(const std::vector<lock_operation>& all, std::size_t most) {
    return search(all, most).run();
}

}  // namespace holdfast::sim
