// SPDX-License-Identifier: Apache-2.0
//
// How a name is taken from its holders. Their nodes are removed and the reason is written, in one
// transaction; each learns it when it renews.
#include "driver/zookeeper/lease_core.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr int most_evictions = 4;

// The reasons are kept for so long, or as long as a session can last without its client.
constexpr duration reasons_kept = 30s;

// Of a transaction that fits into the megabyte that ZooKeeper takes.
constexpr std::size_t evicted_together = 500;

request taking_away(const std::vector<std::pair<std::string, std::string>>& nodes,
                    const std::string& reason) {
    request all{.what = request::kind::several, .path = {}};
    for (const auto& [entry, told] : nodes) {
        all.changes.push_back({.what = node_change::kind::remove, .path = entry});
        if (told.empty()) continue;
        all.changes.push_back({.what = node_change::kind::make, .path = told, .data = reason});
    }
    return all;
}

std::set<std::string> holders_of(const ordered::queue_order& queue) {
    std::set<std::string> keys;
    for (const ordered::queue_entry& one : queue.entries()) {
        if (queue.holds(one)) keys.insert(one.key);
    }
    return keys;
}

}  // namespace

auto lease_core::evict(core_ptr self, lock_name name, std::string reason, time_point give_up)
    -> pending<result<std::uint32_t>> {
    result<session_ptr> on = self->client_.session_for(reasons_kept);
    if (!on) co_return std::unexpected(std::move(on.error()));
    const std::string reasons = self->names_.evictions(name.value());
    std::uint32_t count = 0;
    std::optional<std::set<std::string>> meant;  // whoever comes in later stays
    for (int attempt = 0; attempt < most_evictions;) {
        later<ordered::queue_order> reading = read_queue(self, *on, name, give_up);
        result<ordered::queue_order> queue = co_await reading;
        if (!queue) co_return std::unexpected(std::move(queue.error()));
        std::vector<std::pair<std::string, std::string>> nodes;
        if (!meant) meant = holders_of(*queue);
        for (const ordered::queue_entry& one : queue->entries()) {
            if (!meant->contains(one.key) || nodes.size() >= evicted_together) continue;
            nodes.emplace_back(self->path_of(name, one.key),
                               one.is_foreign() ? "" : reasons + "/" + one.owner);
        }
        if (nodes.empty()) co_return count;
        later<bool> preparing = make_directory(self, *on, reasons, give_up);
        const result<bool> prepared = co_await preparing;
        if (!prepared) co_return std::unexpected(prepared.error());
        pending<answered> asking =
            zookeeper_session::call(*on, taking_away(nodes, reason), give_up, if_lost::stop);
        answered said = co_await asking;
        if (said.is == outcome::done) {
            const std::scoped_lock guard(self->mutex_);
            self->reasons_end_ = self->now() + reasons_kept;
            count += static_cast<std::uint32_t>(nodes.size());
            if (nodes.size() < evicted_together) co_return count;
        } else if (said.is == outcome::no_node) {
            ++attempt;  // one of them left meanwhile
        } else if (said.is == outcome::exists) {
            ++attempt;  // the same owner was evicted before
            for (const auto& [entry, told] : nodes) {
                if (told.empty()) continue;
                pending<answered> clearing = zookeeper_session::call(
                    *on, {.what = request::kind::remove, .path = told}, give_up);
                co_await clearing;
            }
        } else {
            co_return std::unexpected(self->problem(said));
        }
    }
    co_return fail(
        errc::unavailable,
        fmt::format("zookeeper: the holder of '{}' changed again and again", name.value()));
}

}  // namespace holdfast::zookeeper
