// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/etcd/lease_pool.hpp"
#include "lease/ordered/queue_entry.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/names.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::etcd {

/// What a waiter has to hear of before it is its turn.
struct turn_watch {
    std::int64_t id = 0;  ///< 0: nothing is watched.
    std::string blocker;  ///< The one key; empty: all in `ahead`.
    /// For permits: those before it, and how many each has.
    std::unordered_map<std::string, std::uint32_t> ahead = {};
};

/// One owner at a name, as the store that put it there knows it.
struct standing {
    ordered::queue_entry entry;
    etcd_lease lease = {};
    bool holds = false;
    /// A request about it may have been carried out, or may still be, without our knowing. Its
    /// lease must not be used for anything else.
    bool doubtful = false;
    turn_watch watch = {};
};

/// The owners whose requests this store carries.
class standing_book {
public:
    using place = std::pair<std::string, std::string>;

    [[nodiscard]] static place of(const lock_name& name, const owner_token& owner) {
        return {name.value(), std::string(owner.value())};
    }

    [[nodiscard]] std::optional<standing> find(const place& at) {
        const std::scoped_lock guard(mutex_);
        const auto found = all_.find(at);
        if (found == all_.end()) return std::nullopt;
        return found->second;
    }

    void put(const place& at, standing what, time_point now) {
        const std::scoped_lock guard(mutex_);
        all_.insert_or_assign(at, std::move(what));
        if (all_.size() < forget_from_ || now < forget_after_) return;
        // Owners that nobody renewed and nobody released: detached, or their caller is gone.
        forget_after_ = now + std::chrono::seconds(10);
        std::erase_if(all_, [&](const auto& one) {
            return one.second.lease.ends + std::chrono::seconds(60) < now;
        });
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

    /// Whether another request has stored a later writing of an owner's entry than `written`, since
    /// the caller saw the entry of `version`.
    [[nodiscard]] static bool is_newer(const standing& one, std::uint64_t written,
                                       std::uint64_t version) {
        return one.entry.version > written && one.entry.version != version;
    }

    /// Stores an entry that was written again, and its lease, unless the owner has left, or
    /// is_newer(). What was there before: its lease is the caller's now if it was replaced.
    std::optional<standing> replace(const place& at, const standing& written,
                                    std::uint64_t version) {
        const std::scoped_lock guard(mutex_);
        const auto found = all_.find(at);
        if (found == all_.end()) return std::nullopt;
        standing& one = found->second;
        standing before = one;
        if (is_newer(one, written.entry.version, version)) return before;
        one.entry = written.entry;
        one.lease = written.lease;
        one.holds = one.holds || written.holds;
        one.doubtful = one.doubtful || written.doubtful;
        return before;
    }

    /// Only if it is on this lease still: else another request has moved it.
    std::optional<standing> take_on(const place& at, std::int64_t lease) {
        const std::scoped_lock guard(mutex_);
        const auto found = all_.find(at);
        if (found == all_.end() || found->second.lease.id != lease) return std::nullopt;
        return std::move(all_.extract(found).mapped());
    }

    std::optional<standing> take(const place& at) {
        const std::scoped_lock guard(mutex_);
        auto node = all_.extract(at);
        if (node.empty()) return std::nullopt;
        return std::move(node.mapped());
    }

    [[nodiscard]] std::vector<standing> take_all() {
        const std::scoped_lock guard(mutex_);
        std::vector<standing> every;
        for (auto& [at, one] : all_) every.push_back(std::move(one));
        all_.clear();
        return every;
    }

private:
    static constexpr std::size_t forget_from_ = 1024;

    std::mutex mutex_;
    std::map<place, standing> all_;
    time_point forget_after_ = time_point::min();
};

}  // namespace holdfast::etcd
