// SPDX-License-Identifier: Apache-2.0
#include "lease_model/lease_model.hpp"

#include <algorithm>

namespace holdfast::test {

using kind = lease_mode::kind;

void lease_model::expire(std::int64_t now) {
    std::erase_if(holders_, [&](const holder& one) { return one.ends < now; });
}

const std::vector<lease_model::holder>& lease_model::holders(std::int64_t now) {
    expire(now);
    return holders_;
}

lease_model::holder* lease_model::find(int who) {
    const auto at = std::ranges::find(holders_, who, &holder::who);
    return at == holders_.end() ? nullptr : &*at;
}

bool lease_model::held_as(kind k) const {
    return !holders_.empty() && holders_.front().mode.type == k;
}

std::uint32_t lease_model::permits_held() const {
    std::uint32_t sum = 0;
    for (const holder& one : holders_) sum += one.mode.permits;
    return sum;
}

std::uint32_t lease_model::limit_for(const lease_mode& mode) const {
    return limit_.value_or(mode.limit);
}

bool lease_model::fits(const lease_mode& mode) const {
    if (holders_.empty()) return true;
    if (mode.type == kind::shared) return held_as(kind::shared);
    if (mode.type == kind::exclusive || !held_as(kind::permit)) return false;
    return permits_held() + mode.permits <= limit_for(mode);
}

bool lease_model::has_place(std::int64_t now, int who) const {
    return std::ranges::any_of(
        line_, [&](const waiter& one) { return one.asked.who == who && one.kept_until >= now; });
}

bool lease_model::leave_line(int who) {
    return std::erase_if(line_, [&](const waiter& one) { return one.asked.who == who; }) > 0;
}

// Who comes back keeps its arrival until it holds the name or leaves.
void lease_model::join_queue(std::int64_t now, const request& asked) {
    leave_line(asked.who);
    const auto number = static_cast<std::size_t>(asked.who);
    if (arrivals_.size() <= number) arrivals_.resize(number + 1, 0);
    if (arrivals_[number] == 0) arrivals_[number] = next_arrival_++;
    line_.push_back({asked, arrivals_[number], now + place_});
    std::ranges::sort(line_, {}, &waiter::arrival);
}

// Along the line as long as the next one fits. True if `me` is next, or nobody is left.
bool lease_model::serve(std::int64_t now, std::optional<int> me, std::vector<int>& told) {
    while (!line_.empty()) {
        const waiter next = line_.front();
        if (next.asked.who == me) return true;
        const lease_mode& mode = next.asked.mode;
        const bool too_many = mode.type == kind::permit && mode.permits > limit_for(mode);
        if (next.kept_until >= now && !too_many) {
            if (!fits(mode)) return false;
            holders_.push_back(
                {next.asked.who, mode, now + std::min<std::int64_t>(next.asked.ttl, 2000)});
            told.push_back(next.asked.who);
            arrivals_[static_cast<std::size_t>(next.asked.who)] = 0;
        }
        line_.erase(line_.begin());
        if (held_as(kind::exclusive)) return false;
    }
    return true;
}

lease_model::outcome lease_model::again(std::int64_t now, holder& mine, const request& asked) {
    leave_line(asked.who);
    const kind had = mine.mode.type;
    const kind wants = asked.mode.type;
    if ((had == kind::permit) != (wants == kind::permit)) return {said::refused, {}};
    if (had == kind::shared && wants == kind::exclusive) return {said::refused, {}};
    mine.ends = std::max(mine.ends, now + asked.ttl);
    outcome out{said::granted, {}};
    if (had == kind::exclusive && wants == kind::shared) {
        mine.mode = asked.mode;
        static_cast<void>(serve(now, {}, out.told));
    }
    return out;
}

lease_model::outcome lease_model::acquire(std::int64_t now, const request& asked) {
    expire(now);
    if (holder* mine = find(asked.who)) return again(now, *mine, asked);
    if (asked.turns) return {said::lost, {}};
    const bool permits = asked.mode.type == kind::permit;
    if (!holders_.empty() && held_as(kind::permit) != permits) return {said::refused, {}};
    if (permits && asked.mode.permits > limit_for(asked.mode)) return {said::refused, {}};
    if (asked.waits) join_queue(now, asked);
    outcome out{said::busy, {}};
    if (held_as(kind::exclusive)) return out;
    const auto me = asked.waits ? std::optional(asked.who) : std::nullopt;
    if (!serve(now, me, out.told) || !fits(asked.mode)) return out;
    leave_line(asked.who);
    if (asked.waits) arrivals_[static_cast<std::size_t>(asked.who)] = 0;
    holders_.push_back({asked.who, asked.mode, now + asked.ttl});
    out.answer = said::granted;
    if (asked.mode.type != kind::exclusive) static_cast<void>(serve(now, {}, out.told));
    return out;
}

lease_model::outcome lease_model::renew(std::int64_t now, int who, std::int64_t ttl) {
    expire(now);
    holder* mine = find(who);
    if (mine == nullptr) return {said::lost, {}};
    mine->ends = std::max(mine->ends, now + ttl);
    return {said::renewed, {}};
}

lease_model::outcome lease_model::release(std::int64_t now, int who) {
    expire(now);
    if (find(who) == nullptr) return {said::lost, {}};
    std::erase_if(holders_, [&](const holder& one) { return one.who == who; });
    outcome out{said::released, {}};
    static_cast<void>(serve(now, {}, out.told));
    return out;
}

void lease_model::vanish(int who) {
    leave_line(who);
    const auto number = static_cast<std::size_t>(who);
    if (number < arrivals_.size()) arrivals_[number] = 0;
}

lease_model::outcome lease_model::leave(std::int64_t now, int who) {
    expire(now);
    const bool waited = has_place(now, who);
    vanish(who);
    outcome out{said::released, {}};
    if (find(who) != nullptr) {
        std::erase_if(holders_, [&](const holder& one) { return one.who == who; });
        static_cast<void>(serve(now, {}, out.told));
    } else if (waited && !held_as(kind::exclusive)) {
        static_cast<void>(serve(now, {}, out.told));
    }
    return out;
}

lease_model::outcome lease_model::resize(std::int64_t now, std::uint32_t permits) {
    expire(now);
    limit_ = permits;
    outcome out{said::released, {}};
    if (held_as(kind::permit)) static_cast<void>(serve(now, {}, out.told));
    return out;
}

}  // namespace holdfast::test
