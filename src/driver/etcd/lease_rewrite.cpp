// SPDX-License-Identifier: Apache-2.0
//
// How an entry is written again: on another lease, in another mode, or with another note. It keeps
// its position.
#include "driver/etcd/etcd_requests.hpp"
#include "driver/etcd/lease_core.hpp"
#include "lease/ordered/entry_text.hpp"

#include <fmt/format.h>

#include <utility>

namespace holdfast::etcd {
namespace {

constexpr int most_rewrites = 4;

/// The entry, if it is still this owner's: an attempt of ours wrote it whose answer was lost, or
/// the owner is another.
std::optional<ordered::queue_entry> still_there(const wire::TxnResponse& said,
                                                const ordered::queue_entry& mine) {
    const auto& stored = said.responses(0).response_range();
    if (stored.kvs_size() == 0) return std::nullopt;
    ordered::queue_entry there = entry_of(stored.kvs(0));
    if (there.owner != mine.owner || there.position != mine.position) return std::nullopt;
    return there;
}

std::unexpected<error> written_by_another() {
    return fail(errc::outcome_unknown,
                "etcd: another request of this owner wrote its entry as well");
}

}  // namespace

auto lease_core::rewrite(core_ptr self, lock_name name, standing mine, std::int64_t ttl_s,
                         time_point give_up) -> later<std::optional<standing>> {
    const place at{name.value(), mine.entry.owner};
    const time_point since = self->now();
    const std::optional<standing> known = self->book_.find(at);
    for (int attempt = 0; attempt < most_rewrites; ++attempt) {
        const bool moves = ttl_s > mine.lease.ttl_s;
        lent_lease lent{mine.lease, {}};
        if (moves) {
            later<lent_lease> lending = lend(self, ttl_s, spare_lease::renewed, give_up);
            result<lent_lease> other = co_await lending;
            if (!other) co_return std::unexpected(std::move(other.error()));
            lent = std::move(*other);
        }
        wire::TxnRequest write;
        *write.add_compare() = unchanged(mine.entry.key, mine.entry.version);
        *write.add_success() = put(mine.entry.key, ordered::entry_text(mine.entry), lent.lease.id);
        *write.add_failure() = get(mine.entry.key);
        pending<called<wire::TxnResponse>> asking = self->client_->txn(std::move(write), give_up);
        called<wire::TxnResponse> said = co_await asking;
        if (!said.value) {
            if (said.no_lease && !said.doubt) continue;
            if (said.doubt) {
                self->book_.update(at, [](standing& one) { one.doubtful = true; });
            }
            co_return std::unexpected(std::move(said.value.error()));
        }
        if (!said.value->succeeded()) {
            const auto there = still_there(*said.value, mine.entry);
            if (!there) co_return std::nullopt;
            if (!moves && there->lease != mine.lease.id) co_return written_by_another();
            mine.doubtful = mine.doubtful || said.doubt;
            mine.entry.version = there->version;
            continue;
        }
        pending<kept> confirming = confirm(lent);
        const kept is = co_await confirming;
        if (is == kept::gone) co_return std::nullopt;
        const etcd_lease old = mine.lease;
        mine.doubtful = mine.doubtful || said.doubt || is == kept::unknown;
        mine.lease = lent.lease;
        if (lent.renewal && is == kept::yes) {
            mine.lease.ends = since + std::chrono::seconds(mine.lease.ttl_s);
        }
        mine.entry.lease = lent.lease.id;
        mine.entry.version = static_cast<std::uint64_t>(said.value->header().revision());
        if (known) {
            // A release, or another rewrite, may have come between, and given the old lease away.
            const std::optional<standing> had = self->book_.replace(at, mine, known->entry.version);
            if (!had) {
                if (moves) self->client_->revoke(lent.lease.id, give_up);
                co_return std::nullopt;
            }
            if (standing_book::is_newer(*had, mine.entry.version, known->entry.version)) {
                co_return written_by_another();
            }
            const bool unused = moves && had->lease.id == old.id;
            if (unused && !had->doubtful && !mine.doubtful) self->pool_.give_back(old, since);
        }
        if (is == kept::unknown) {
            if (!known) self->book_.put(at, mine, since);
            co_return fail(errc::outcome_unknown, "etcd: the lease could not be renewed");
        }
        co_return std::move(mine);
    }
    co_return fail(errc::unavailable,
                   fmt::format("etcd: the entry of '{}' changed again and again", name.value()));
}

}  // namespace holdfast::etcd
