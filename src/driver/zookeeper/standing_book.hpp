// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/zookeeper/zookeeper_session.hpp"
#include "lease/ordered/queue_entry.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/names.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::zookeeper {

/// One owner at a name, as the store that put it there knows it.
struct standing {
    ordered::queue_entry entry;  ///< No key: a request to make it may have been carried out.
    std::shared_ptr<zookeeper_session> on;
    duration ttl = duration::zero();  ///< What its owner asked for last.
    /// Its node is removed then, unless it was renewed, or polled for.
    time_point ends = time_point::max();
    bool holds = false;
    std::uintptr_t watch = 0;  ///< On the blocker; 0: none.
    std::string blocker = {};
};

/// The owners whose requests this store carries.
class standing_book {
public:
    using place = std::pair<std::string, std::string>;

    [[nodiscard]] static place of(const lock_name& name, const owner_token& owner) {
        return {name.value(), std::string(owner.value())};
    }

    [[nodiscard]] std::optional<standing> find(const place& at) const {
        const std::scoped_lock guard(mutex_);
        const auto found = all_.find(at);
        if (found == all_.end()) return std::nullopt;
        return found->second;
    }

    void put(const place& at, standing what) {
        const std::scoped_lock guard(mutex_);
        all_.insert_or_assign(at, std::move(what));
    }

    /// Calls `change` with it, if it is there, under the book's mutex.
    template <class Change>
    bool update(const place& at, Change change) {
        const std::scoped_lock guard(mutex_);
        const auto found = all_.find(at);
        if (found == all_.end()) return false;
        change(found->second);
        return true;
    }

    std::optional<standing> take(const place& at) {
        const std::scoped_lock guard(mutex_);
        auto node = all_.extract(at);
        if (node.empty()) return std::nullopt;
        return std::move(node.mapped());
    }

    /// Takes out all that `unwanted` says so of.
    template <class Unwanted>
    [[nodiscard]] std::vector<std::pair<place, standing>> take_if(Unwanted unwanted) {
        const std::scoped_lock guard(mutex_);
        std::vector<std::pair<place, standing>> taken;
        for (auto one = all_.begin(); one != all_.end();) {
            if (!unwanted(one->second)) {
                ++one;
                continue;
            }
            taken.emplace_back(one->first, std::move(one->second));
            one = all_.erase(one);
        }
        return taken;
    }

    /// The owners of one name that wait for permits.
    [[nodiscard]] std::vector<place> permit_waiters(const std::string& name) const {
        const std::scoped_lock guard(mutex_);
        std::vector<place> found;
        for (auto one = all_.lower_bound({name, ""}); one != all_.end() && one->first.first == name;
             ++one) {
            const bool permits = one->second.entry.mode.type == lease_mode::kind::permit;
            if (permits && !one->second.holds) found.push_back(one->first);
        }
        return found;
    }

    /// When the first of them ends.
    [[nodiscard]] time_point first_end() const {
        const std::scoped_lock guard(mutex_);
        time_point first = time_point::max();
        for (const auto& [at, one] : all_) first = std::min(first, one.ends);
        return first;
    }

    [[nodiscard]] bool has_holders() const {
        const std::scoped_lock guard(mutex_);
        return std::ranges::any_of(all_, [](const auto& one) { return one.second.holds; });
    }

private:
    mutable std::mutex mutex_;
    std::map<place, standing> all_;
};

}  // namespace holdfast::zookeeper
