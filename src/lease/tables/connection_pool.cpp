// SPDX-License-Identifier: Apache-2.0
#include "lease/tables/connection_pool.hpp"

namespace holdfast::sql {

std::optional<connection_pool::held> connection_pool::enter(time_point give_up) {
    std::unique_lock guard(mutex_);
    while (idle_.empty() && made_ == of_.most_connections()) {
        if (clock_.now() >= give_up) return std::nullopt;
        clock_.wait_until(guard, free_, give_up);
    }
    if (idle_.empty()) {
        auto fresh = of_.make_connection();
        fresh->announce(process_);
        ++made_;
        return std::optional<held>(std::in_place, *this, std::move(fresh));
    }
    auto next = std::move(idle_.back());
    idle_.pop_back();
    return std::optional<held>(std::in_place, *this, std::move(next));
}

void connection_pool::put_back(std::unique_ptr<connection> which) {
    {
        const std::scoped_lock guard(mutex_);
        idle_.push_back(std::move(which));
    }
    free_.notify_one();
}

void connection_pool::forget() noexcept {
    for (auto& one : idle_) static_cast<void>(one.release());
    idle_.clear();
}

}  // namespace holdfast::sql
