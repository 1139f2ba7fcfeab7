// SPDX-License-Identifier: Apache-2.0
//
// How a name is taken from its holders. Their entries are deleted and the reason is written, in one
// transaction; each learns it when it renews.
#include "driver/etcd/etcd_requests.hpp"
#include "driver/etcd/lease_core.hpp"

#include <fmt/format.h>

#include <utility>

namespace holdfast::etcd {
namespace {

constexpr int most_evictions = 4;

// How much longer than a holder's lease the reason of its eviction is kept.
constexpr std::int64_t reason_kept_s = 60;

// etcd takes 128 operations in a transaction; a holder takes two of them, and a test.
constexpr std::size_t evicted_together = 60;

}  // namespace

auto lease_core::evict(core_ptr self, lock_name name, std::string reason, time_point give_up)
    -> pending<result<std::uint32_t>> {
    std::uint32_t count = 0;
    std::uint64_t last = 0;  // whoever comes in later is the next holder, and stays
    for (int attempt = 0; attempt < most_evictions;) {
        later<seen_queue> reading = read_queue(self, name, give_up);
        result<seen_queue> seen = co_await reading;
        if (!seen) co_return std::unexpected(std::move(seen.error()));
        std::vector<ordered::queue_entry> holders;
        for (const ordered::queue_entry& one : seen->queue.entries()) {
            if (!seen->queue.holds(one)) continue;
            if (count == 0) last = one.position;
            if (one.position <= last && holders.size() < evicted_together) holders.push_back(one);
        }
        if (holders.empty()) co_return count;
        pending<called<wire::LeaseTimeToLiveResponse>> timing =
            self->client_->time_to_live(holders.front().lease, give_up);
        called<wire::LeaseTimeToLiveResponse> lasts = co_await timing;
        const std::int64_t granted = lasts.value ? lasts.value->grantedttl() : 0;
        pending<called<wire::LeaseGrantResponse>> granting =
            self->client_->grant(granted + reason_kept_s, give_up);
        called<wire::LeaseGrantResponse> noted = co_await granting;
        if (!noted.value) co_return fail(errc::unavailable, noted.value.error().detail);
        wire::TxnRequest take_away;
        for (const ordered::queue_entry& one : holders) {
            *take_away.add_compare() = unchanged(one.key, one.version);
            *take_away.add_success() = remove(one.key);
            if (one.is_foreign()) continue;
            *take_away.add_success() =
                put(self->keys_.eviction(name.value(), one.owner), reason, noted.value->id());
        }
        pending<called<wire::TxnResponse>> asking =
            self->client_->txn(std::move(take_away), give_up, if_unknown::stop);
        called<wire::TxnResponse> said = co_await asking;
        if (!said.value) co_return std::unexpected(std::move(said.value.error()));
        if (said.value->succeeded()) {
            count += static_cast<std::uint32_t>(holders.size());
            if (holders.size() < evicted_together) co_return count;
        } else {
            ++attempt;
        }
    }
    co_return fail(errc::unavailable,
                   fmt::format("etcd: the holder of '{}' changed again and again", name.value()));
}

}  // namespace holdfast::etcd
