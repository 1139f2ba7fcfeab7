// SPDX-License-Identifier: Apache-2.0
#include "linearize.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>

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
        found.possible = step({});
        found.given_up = visited_.size() >= most_;
        if (found.given_up) found.possible = true;
        if (!found.possible) found.stuck_at = stuck_;
        return found;
    }

private:
    // Operations that may come next: those that were called before any that is left had returned.
    [[nodiscard]] std::vector<std::size_t> candidates() const {
        moment horizon = moment::max();
        for (const std::size_t i : order_) {
            if (done_[i] == '0' && all_[i].must_happen)
                horizon = std::min(horizon, all_[i].returned);
        }
        std::vector<std::size_t> next;
        for (const std::size_t i : order_) {
            if (done_[i] == '0' && all_[i].called <= horizon) next.push_back(i);
        }
        return next;
    }

    bool step(const lock_state& now) {
        if (left_ == 0) return true;
        if (visited_.size() >= most_) return false;
        if (!visited_.emplace(done_, std::pair(now.holder, now.fence)).second) return false;
        const auto next = candidates();
        for (const std::size_t i : next) {
            const auto then = after(now, all_[i]);
            if (!then) continue;
            done_[i] = '1';
            left_ -= all_[i].must_happen ? 1 : 0;
            if (step(*then)) return true;
            left_ += all_[i].must_happen ? 1 : 0;
            done_[i] = '0';
        }
        const auto so_far = static_cast<std::size_t>(std::ranges::count(done_, '1'));
        if (so_far >= furthest_) {
            furthest_ = so_far;
            stuck_ = next;
        }
        return false;
    }

    const std::vector<lock_operation>& all_;
    std::vector<std::size_t> order_;
    std::string done_;
    std::size_t most_;
    std::size_t left_ = 0;
    std::size_t furthest_ = 0;
    std::vector<std::size_t> stuck_;
    std::set<std::pair<std::string, std::pair<std::uint64_t, std::uint64_t>>> visited_;
};

}  // namespace

linearization linearize(const std::vector<lock_operation>& all, std::size_t most) {
    return search(all, most).run();
}

}  // namespace holdfast::sim
