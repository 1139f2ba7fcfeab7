// SPDX-License-Identifier: Apache-2.0
#include "lease/ordered/queue_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::ordered {
namespace {

using kind = lease_mode::kind;

std::string_view word_for(const lease_mode& mode) {
    return mode.type == kind::permit ? "semaphore" : "mutex";
}

}  // namespace

queue_order::queue_order(std::vector<queue_entry> entries) : entries_(std::move(entries)) {
    std::ranges::sort(entries_, {}, &queue_entry::position);
}

const queue_entry* queue_order::find(const owner_token& owner) const {
    const auto found = std::ranges::find(entries_, owner.value(), &queue_entry::owner);
    return found == entries_.end() ? nullptr : &*found;
}

bool queue_order::has_room_before(std::size_t place, const lease_mode& mode) const {
    if (mode.type == kind::exclusive) return place == 0;
    std::uint64_t taken = mode.permits;
    for (std::size_t i = 0; i < place; ++i) {
        const lease_mode& before = entries_[i].mode;
        if (before.type == kind::exclusive || before.type != mode.type) return false;
        taken += before.permits;
    }
    return mode.type == kind::shared || taken <= mode.limit;
}

bool queue_order::holds(const queue_entry& entry) const {
    return has_room_before(static_cast<std::size_t>(&entry - entries_.data()), entry.mode);
}

bool queue_order::has_room_for(const lease_mode& mode) const {
    return has_room_before(entries_.size(), mode);
}

std::uint32_t queue_order::waiters_before(const queue_entry* entry) const {
    std::uint32_t count = 0;
    for (const queue_entry& one : entries_) {
        if (&one == entry) break;
        if (!holds(one)) ++count;
    }
    return count;
}

fencing_token queue_order::latest_fence() const {
    fencing_token latest;
    for (const queue_entry& one : entries_) {
        if (holds(one)) latest = one.fence();
    }
    return latest;
}

const queue_entry* queue_order::blocker_of(const queue_entry& entry) const {
    if (entry.mode.type == kind::permit) return nullptr;
    const auto place = static_cast<std::size_t>(&entry - entries_.data());
    for (std::size_t i = place; i-- > 0;) {
        if (entry.mode.type == kind::exclusive || entries_[i].mode.type != kind::shared) {
            return &entries_[i];
        }
    }
    return nullptr;
}

std::optional<error> queue_order::unfit(const ask::acquire& asked) const {
    const auto counts = [](const lease_mode& mode) { return mode.type == kind::permit; };
    const queue_entry* const mine = find(asked.owner);
    for (const queue_entry& one : entries_) {
        if (!one.is_foreign() && counts(one.mode) != counts(asked.mode)) {
            return error{errc::invalid_argument,
                         fmt::format("'{}' is held as a {}: use another name for a {}",
                                     asked.name.value(), word_for(one.mode), word_for(asked.mode))};
        }
        if (&one == mine) break;  // one that came later is refused itself
    }
    if (mine != nullptr && mine->mode.type == kind::shared && asked.mode.type == kind::exclusive) {
        return error{
            errc::invalid_argument,
            fmt::format("'{}' is shared by this owner: release it first", asked.name.value())};
    }
    return std::nullopt;
}

}  // namespace holdfast::ordered
