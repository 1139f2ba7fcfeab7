// SPDX-License-Identifier: Apache-2.0
#include "cache/load_flights.hpp"

namespace holdfast::detail {

std::optional<load_result> load_flight::wait(clock& time, time_point until) {
    std::unique_lock held(mutex_);
    while (!outcome_ && time.now() < until) time.wait_until(held, landed_, until);
    return outcome_;
}

void load_flight::land(const load_result& outcome) {
    {
        const std::scoped_lock guard(mutex_);
        outcome_ = outcome;
    }
    landed_.notify_all();
}

std::shared_ptr<load_flight> load_flights::begin(std::string_view key, std::string_view token) {
    auto made = std::make_shared<load_flight>(std::string(token));
    const std::scoped_lock guard(mutex_);
    running_[std::string(key)] = made;
    return made;
}

std::shared_ptr<load_flight> load_flights::find(std::string_view key, std::string_view token) {
    const std::scoped_lock guard(mutex_);
    const auto found = running_.find(std::string(key));
    if (found == running_.end() || found->second->token() != token) return nullptr;
    return found->second;
}

std::shared_ptr<load_flight> load_flights::join(std::string_view key, bool& first) {
    const std::scoped_lock guard(mutex_);
    auto& at = away_[std::string(key)];
    first = at == nullptr;
    if (first) at = std::make_shared<load_flight>(std::string());
    return at;
}

void load_flights::end(std::string_view key, const std::shared_ptr<load_flight>& which,
                       const load_result& outcome) {
    {
        const std::scoped_lock guard(mutex_);
        auto& from = which->token().empty() ? away_ : running_;
        const auto found = from.find(std::string(key));
        if (found != from.end() && found->second == which) from.erase(found);
    }
    which->land(outcome);
}

}  // namespace holdfast::detail
