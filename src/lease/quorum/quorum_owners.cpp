// SPDX-License-Identifier: Apache-2.0
#include "lease/quorum/quorum_owners.hpp"

#include "core/lease_bounds.hpp"
#include "lease/quorum/quorum_machine.hpp"

#include <algorithm>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

// Who waits looks at least once a second, and who holds renews at a third of a ttl of a day at
// most; who does neither is gone.
constexpr duration longest_silence = 24h;
constexpr duration longest_silence_of_waiters = 1min;
constexpr duration sweep_every = 10s;

constexpr duration first_pause = 4ms;
constexpr unsigned most_doublings = 6;

}  // namespace

quorum_owners::entry& quorum_owners::entry_of(const asker& who, time_point now) {
    if (now - swept_ > sweep_every) {
        swept_ = now;
        std::erase_if(owners_, [&](const auto& one) {
            const bool holds = one.second.holds;
            return now - one.second.seen > (holds ? longest_silence : longest_silence_of_waiters);
        });
    }
    entry& here = owners_[who];
    if (here.ended == nullptr) here.ended = std::make_shared<end_marks::element_type>(nodes_);
    here.seen = now;
    return here;
}

quorum_owners::known quorum_owners::look(const asker& who, bool waits, time_point now) {
    const std::scoped_lock guard(mutex_);
    entry& here = entry_of(who, now);
    here.waits = waits;
    here.told.assign(waits ? nodes_ : 0, false);
    here.tellers = 0;
    ++here.looks;
    return {here.undone, here.ended, here.looks};
}

quorum_owners::known quorum_owners::renew(const asker& who, time_point now) {
    const std::scoped_lock guard(mutex_);
    const auto found = owners_.find(who);
    if (found == owners_.end()) return {};
    found->second.seen = now;
    return {found->second.undone, found->second.ended, found->second.looks};
}

duration quorum_owners::pause(const entry& here) {
    const duration longest = first_pause * (1U << std::min(here.in_vain, most_doublings));
    return 1ms + duration(static_cast<std::int64_t>(
                     chance_.below(static_cast<std::uint64_t>(longest.count()))));
}

duration quorum_owners::poll_after(const asker& who, duration nodes_say, bool split) {
    const std::scoped_lock guard(mutex_);
    const auto found = owners_.find(who);
    if (split && found != owners_.end()) {
        entry& here = found->second;
        here.in_vain = std::min(here.in_vain + 1, most_doublings);
        return pause(here);
    }
    // The nodes know when a dead holder's time is over; otherwise not all at the same time.
    if (nodes_say < longest_poll) return nodes_say + duration(chance_.below(1'000'000));
    return longest_poll / 2 + duration(chance_.below(500'000'000));
}

bool quorum_owners::undoing(const asker& who, std::span<const fencing_token> undone,
                            std::uint64_t look, time_point now) {
    const std::scoped_lock guard(mutex_);
    const auto found = owners_.find(who);
    if (found == owners_.end()) return true;  // it was given back, and will not ask again
    if (found->second.looks != look) return false;
    found->second.seen = now;
    auto& all = found->second.undone;
    all.resize(nodes_);
    for (std::size_t i = 0; i < undone.size(); ++i) all[i] = std::max(all[i], undone[i]);
    return true;
}

void quorum_owners::undone(const asker& who, std::size_t node, fencing_token up_to) {
    const std::scoped_lock guard(mutex_);
    const auto found = owners_.find(who);
    if (found == owners_.end() || found->second.undone.empty()) return;
    fencing_token& undone = found->second.undone[node];
    if (undone <= up_to) undone = {};
}

void quorum_owners::voted(const asker& who, std::size_t node, fencing_token fence) {
    if (fence.value > 0) undone(who, node, {fence.value - 1});
}

void quorum_owners::granted(const asker& who) {
    const std::scoped_lock guard(mutex_);
    const auto found = owners_.find(who);
    if (found == owners_.end()) return;
    found->second.waits = false;
    found->second.holds = true;
}

void quorum_owners::refused(const asker& who) {
    const std::scoped_lock guard(mutex_);
    const auto found = owners_.find(who);
    if (found == owners_.end()) return;
    if (!found->second.waits && found->second.undone.empty()) owners_.erase(found);
}

void quorum_owners::never_sent(const asker& who, std::size_t node) {
    const std::scoped_lock guard(mutex_);
    const auto found = owners_.find(who);
    if (found == owners_.end()) return;
    found->second.unsent.resize(nodes_);
    ++found->second.unsent[node];
}

quorum_owners::known quorum_owners::forget(const asker& who) {
    const std::scoped_lock guard(mutex_);
    const auto found = owners_.find(who);
    if (found == owners_.end()) return {};
    const entry& here = found->second;
    known all{.ended = here.ended};
    for (const std::uint64_t looks : here.unsent) all.never_knew.push_back(looks == here.looks);
    owners_.erase(found);
    return all;
}

// A push names the owner alone.
quorum_owners::entry* quorum_owners::waiting(const owner_token& owner) {
    const auto [first, last] = owners_.equal_range(owner);
    for (auto at = first; at != last; ++at) {
        if (at->second.waits) return &at->second;
    }
    return nullptr;
}

std::optional<quorum_owners::hint> quorum_owners::hear(std::size_t node, const owner_token& owner) {
    const std::scoped_lock guard(mutex_);
    entry* const here = waiting(owner);
    if (here == nullptr || here->told[node]) return std::nullopt;
    here->told[node] = true;
    ++here->tellers;
    if (here->tellers == majority_of(nodes_)) return hint{duration::zero(), here->looks};
    if (here->tellers == 1) return hint{pause(*here), here->looks};
    return std::nullopt;
}

bool quorum_owners::still_waits(const owner_token& owner, std::uint64_t look) {
    const std::scoped_lock guard(mutex_);
    const entry* const here = waiting(owner);
    return here != nullptr && here->looks == look && here->tellers < majority_of(nodes_);
}

}  // namespace holdfast::detail
