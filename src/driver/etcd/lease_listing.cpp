// SPDX-License-Identifier: Apache-2.0
//
// Who holds what, for people. etcd does not say how long a lease lasts yet when it lists keys: that
// is asked for each holder's, all at once.
#include "driver/etcd/etcd_requests.hpp"
#include "driver/etcd/lease_core.hpp"
#include "lease/ordered/queue_report.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace holdfast::etcd {
namespace {

constexpr std::int64_t page_size = 1000;

// So many leases are asked about in one listing; of the others it is not known how long they last.
constexpr std::size_t most_asked = 1000;

}  // namespace

ordered::remaining_time lease_core::remaining_of(const std::vector<std::int64_t>& leases,
                                                 time_point give_up) {
    std::vector<std::pair<std::int64_t, pending<called<wire::LeaseTimeToLiveResponse>>>> asked;
    for (const std::int64_t lease : leases) {
        if (asked.size() >= most_asked) break;
        asked.emplace_back(lease, client_->time_to_live(lease, give_up));
    }
    std::unordered_map<std::int64_t, duration> known;
    for (auto& [lease, answer] : asked) {
        const auto said = answer.wait();
        if (said.value && said.value->ttl() >= 0) {
            // The server has cut off the fraction of a second.
            known.emplace(lease, std::chrono::seconds(
                                     std::min(said.value->ttl() + 1, said.value->grantedttl())));
        }
    }
    return [known = std::move(known)](std::int64_t lease) -> std::optional<duration> {
        const auto found = known.find(lease);
        if (found == known.end()) return std::nullopt;
        return found->second;
    };
}

// Page by page, all as it was at the first page's revision.
result<std::vector<lease_info>> lease_core::list(std::string_view prefix, time_point give_up) {
    std::map<std::string, std::vector<ordered::queue_entry>> by_name;
    wire::RangeRequest range = range_of(keys_.all(prefix));
    range.set_limit(page_size);
    for (bool more = true; more;) {
        auto said = client_->range(range, give_up).wait();
        if (!said.value) return fail(errc::unavailable, std::move(said.value.error().detail));
        for (const wire::KeyValue& one : said.value->kvs()) {
            if (const auto name = keys_.name_of(one.key())) {
                by_name[std::string(*name)].push_back(entry_of(one));
            }
        }
        more = said.value->more() && said.value->kvs_size() > 0;
        if (!more) break;
        range.set_key(said.value->kvs(said.value->kvs_size() - 1).key() + '\0');
        range.set_revision(said.value->header().revision());
    }
    std::vector<std::pair<std::string, ordered::queue_order>> all;
    std::vector<std::int64_t> leases;
    for (auto& [name, entries] : by_name) {
        if (!name.starts_with(prefix)) continue;
        all.emplace_back(name, ordered::queue_order(std::move(entries)));
        for (const auto& one : all.back().second.entries()) {
            if (all.back().second.holds(one)) leases.push_back(one.lease);
        }
    }
    const auto remaining = remaining_of(leases, give_up);
    std::vector<lease_info> out;
    for (const auto& [name, queue] : all) {
        auto info = ordered::describe(name, queue, remaining, ordered::with_queue::no);
        if (info.held()) out.push_back(std::move(info));
    }
    return out;
}

result<std::optional<lease_info>> lease_core::inspect(const lock_name& name, time_point give_up) {
    const auto seen = read_queue(shared_from_this(), name, give_up).wait();
    if (!seen) return std::unexpected(seen.error());
    if (seen->queue.entries().empty()) return std::nullopt;
    std::vector<std::int64_t> leases;
    for (const auto& one : seen->queue.entries()) {
        if (seen->queue.holds(one)) leases.push_back(one.lease);
    }
    return ordered::describe(name.value(), seen->queue, remaining_of(leases, give_up),
                             ordered::with_queue::yes);
}

result<std::vector<eviction_info>> lease_core::evictions(const lock_name& name,
                                                         time_point give_up) {
    const ordered::key_range keys = keys_.evictions(name.value());
    auto said = client_->range(range_of(keys), give_up).wait();
    if (!said.value) return fail(errc::unavailable, std::move(said.value.error().detail));
    std::vector<eviction_info> all;
    for (const wire::KeyValue& one : said.value->kvs()) {
        const std::string owner = one.key().substr(keys.first.size());
        if (owner.find('/') != std::string::npos) continue;  // of a name below this one
        all.push_back({owner.substr(0, 12), one.value()});
    }
    return all;
}

}  // namespace holdfast::etcd
