// SPDX-License-Identifier: Apache-2.0
//
// What is on a server, as an operator would find it: only what is alive counts. A marked lock stays
// for three seconds longer than its lease, and a place in line is worth nothing when its own key is
// gone.
#include "world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace holdfast::sim {
namespace {

constexpr std::int64_t slack_ms = 3000;

using memory::memory_image;

std::int64_t now_ms(node& there) {
    return there.time().wall().time_since_epoch().count() / 1000;
}

bool alive(const memory_image::entry& one, std::int64_t now) {
    return one.expires_ms < 0 || one.expires_ms > now;
}

bool lease_alive(const memory_image::entry& one, std::string_view value, std::int64_t now) {
    return one.expires_ms < 0 || one.expires_ms - (value.ends_with('+') ? slack_ms : 0) > now;
}

using owner_set = std::set<std::string, std::less<>>;

bool has_place(const memory_image& all, std::string_view line, std::string_view owner,
               std::int64_t now) {
    constexpr std::string_view end = "line";
    const std::string key =
        fmt::format("{}waiters:{}", line.substr(0, line.size() - end.size()), owner);
    return std::ranges::any_of(all.entries,
                               [&](const auto& one) { return one.key == key && alive(one, now); });
}

std::string left_at(node& there, const std::string& id, const owner_set& late) {
    const std::int64_t now = now_ms(there);
    const memory_image all = there.engine().image();
    for (const auto& entry : all.entries) {
        if (!alive(entry, now)) continue;
        if (const auto* text = std::get_if<std::string>(&entry.value)) {
            const bool excused = late.contains(std::string_view(*text).substr(0, 32));
            if (text->starts_with(id) && !excused && lease_alive(entry, *text, now)) {
                return fmt::format("the lock {} of {}", entry.key, *text);
            }
        } else if (const auto* line = std::get_if<memory_image::sorted>(&entry.value)) {
            for (const auto& [owner, ticket] : *line) {
                if (owner.starts_with(id) && !late.contains(owner) &&
                    has_place(all, entry.key, owner, now)) {
                    return fmt::format("a place in {} of {}", entry.key, owner);
                }
            }
        }
    }
    return {};
}

}  // namespace

std::string world::left_of(const process& one) {
    // After these a lease outlives what its program knows of it: by the ttl, or by the step.
    const bool forgets =
        plan_.has(fault::node_loss) || plan_.has(fault::failover) || plan_.has(fault::clock_back);
    if (forgets) return {};
    const bool all = plan_.servers == shape::quorum;
    for (unsigned i = 0; i < servers_.size(); ++i) {
        if (!servers_[i]->up() || (!all && i != master_)) continue;
        if (auto left = left_at(*servers_[i], one.client_prefix(), late_owners_); !left.empty()) {
            return left;
        }
    }
    return {};
}

bool world::has_lease(const process& one, const std::string& name) {
    node& there = *servers_[master_];
    if (!there.up()) return true;
    const std::int64_t now = now_ms(there);
    const auto is_it = [&](const memory_image::entry& entry) {
        const auto* text = std::get_if<std::string>(&entry.value);
        return text != nullptr && entry.key == "lock:" + name &&
               text->starts_with(one.client_prefix()) && lease_alive(entry, *text, now);
    };
    return std::ranges::any_of(there.engine().image().entries, is_it);
}

std::string world::left_on_servers() {
    // What a server wrote whose clock was ahead, lasts longer by that on one that replaces it.
    const bool apart = plan_.has(fault::clock_forward) && plan_.has(fault::failover);
    std::string left;
    for (const auto& there : servers_) {
        if (!there->up() || !there->is_master) continue;
        const std::int64_t now = now_ms(*there);
        for (const auto& entry : there->engine().image().entries) {
            if (!alive(entry, now) || is_shared_key(entry.key)) continue;
            if (apart && entry.expires_ms >= 0) continue;
            left += fmt::format("{}{}", left.empty() ? "" : ", ", entry.key);
        }
    }
    return left;
}

}  // namespace holdfast::sim
