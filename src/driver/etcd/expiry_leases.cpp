// SPDX-License-Identifier: Apache-2.0
#include "driver/etcd/expiry_leases.hpp"

#include <utility>

namespace holdfast::etcd {
namespace {

using namespace std::chrono_literals;

// Far above what two clocks of one key may differ by (key_bench.hpp).
constexpr duration expiry_slack = 60s;

}  // namespace

duration expiry_leases::span_of(std::size_t which) {
    return 1min * (std::int64_t{1} << which);
}

std::size_t expiry_leases::class_of(duration left) {
    std::size_t which = 0;
    while (which + 1 < classes && span_of(which) < left) ++which;
    return which;
}

// Two that find none at once are granted one each: the one that is not kept ends by itself.
pending<called<std::int64_t>> expiry_leases::lease_for(std::shared_ptr<expiry_leases> self,
                                                       duration left, time_point give_up) {
    const std::size_t which = class_of(left);
    const time_point asked = self->client_->time().now();
    called<std::int64_t> out;
    out.value = self->known(which, asked);
    if (*out.value != 0) co_return out;
    const duration whole = 2 * span_of(which) + expiry_slack;
    pending<called<wire::LeaseGrantResponse>> flight =
        self->client_->grant(std::chrono::ceil<std::chrono::seconds>(whole).count(), give_up);
    called<wire::LeaseGrantResponse> made = co_await flight;
    if (!made.value) {
        out.value = std::unexpected(made.value.error());
        co_return out;
    }
    out.value = made.value->id();
    self->remember(which, {made.value->id(), asked + span_of(which)});
    co_return out;
}

std::int64_t expiry_leases::known(std::size_t which, time_point now) {
    const std::scoped_lock guard(mutex_);
    return now < leases_[which].until ? leases_[which].id : 0;
}

void expiry_leases::remember(std::size_t which, granted lease) {
    const std::scoped_lock guard(mutex_);
    leases_[which] = lease;
}

void expiry_leases::forget_all() {
    const std::scoped_lock guard(mutex_);
    leases_ = {};
}

}  // namespace holdfast::etcd
