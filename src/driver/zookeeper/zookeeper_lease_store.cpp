// SPDX-License-Identifier: Apache-2.0
#include "driver/zookeeper/zookeeper_lease_store.hpp"

#include "core/overloaded.hpp"
#include "core/require.hpp"
#include "driver/zookeeper/lease_core.hpp"
#include "runtime/fork_watch.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::zookeeper {
namespace {

pending<result<lease_reply>> begin(const std::shared_ptr<lease_core>& core,
                                   const lease_request& request, time_point give_up) {
    return std::visit(
        detail::overloaded{
            [&](const ask::acquire& asked) { return lease_core::acquire(core, asked, give_up); },
            [&](const ask::renew& asked) { return lease_core::renew(core, asked, give_up); },
            [&](const ask::release& asked) { return lease_core::release(core, asked, give_up); },
            [&](const ask::leave& asked) { return lease_core::leave(core, asked, give_up); },
        },
        request);
}

}  // namespace

std::shared_ptr<zookeeper_lease_store> zookeeper_lease_store::make(zookeeper_options options,
                                                                   clock& time) {
    auto core = std::make_shared<lease_core>(std::move(options), time);
    core->start();
    return std::shared_ptr<zookeeper_lease_store>(new zookeeper_lease_store(std::move(core), time));
}

zookeeper_lease_store::zookeeper_lease_store(std::shared_ptr<lease_core> core, clock& time)
    : core_(std::move(core)), clock_(time), generation_(detail::fork_generation()) {}

// A child of fork() has none of the library's threads: it leaves everything where it is.
zookeeper_lease_store::~zookeeper_lease_store() {
    if (detail::fork_generation() != generation_) {
        static_cast<void>(new std::shared_ptr<lease_core>(std::move(core_)));  // never deleted
        return;
    }
    core_->close();
}

std::optional<error> zookeeper_lease_store::refused() const {
    if (detail::fork_generation() == generation_) return std::nullopt;
    return error{errc::invalid_argument,
                 "this is a child of the process that opened ZooKeeper: open it again"};
}

capabilities zookeeper_lease_store::can() const noexcept {
    return {.shared = true,
            .permits = true,
            .fencing = true,
            .fair = true,
            .pushes = true,
            .listing = true};
}

void zookeeper_lease_store::exchange(std::span<const lease_request> requests,
                                     std::span<result<lease_reply>> replies, time_point give_up) {
    detail::require(replies.size() == requests.size(), "replies.size() == requests.size()");
    if (auto why = refused()) {
        std::ranges::fill(replies, std::unexpected(*why));
        return;
    }
    std::vector<pending<result<lease_reply>>> asked;
    asked.reserve(requests.size());
    for (const lease_request& one : requests) asked.push_back(begin(core_, one, give_up));
    for (std::size_t i = 0; i < asked.size(); ++i) replies[i] = asked[i].wait();
}

void zookeeper_lease_store::submit(std::vector<lease_request> requests, time_point give_up,
                                   reply_handler on_reply) {
    if (auto why = refused()) {
        for (std::size_t i = 0; i < requests.size(); ++i) on_reply(i, std::unexpected(*why));
        return;
    }
    {
        const std::scoped_lock guard(submitted_->mutex);
        submitted_->count += requests.size();
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
        begin(core_, requests[i], give_up)
            .then([i, on_reply, flying = submitted_](result<lease_reply> reply) {
                on_reply(i, std::move(reply));
                const std::scoped_lock guard(flying->mutex);
                --flying->count;
                flying->changed.notify_all();
            });
    }
}

void zookeeper_lease_store::settle(time_point until) {
    std::unique_lock held(submitted_->mutex);
    submitted_->changed.wait_for(held, until - clock_.now(),
                                 [&] { return submitted_->count == 0; });
}

void zookeeper_lease_store::on_push(push_handler handler) {
    core_->on_push(std::move(handler));
}

void zookeeper_lease_store::introduce(const client_id& /*id*/, const client_label& who) {
    core_->introduce(who);
}

result<std::vector<lease_info>> zookeeper_lease_store::list(std::string_view prefix,
                                                            time_point give_up) {
    if (auto why = refused()) return std::unexpected(*why);
    return core_->list(prefix, give_up);
}

result<std::optional<lease_info>> zookeeper_lease_store::inspect(const lock_name& name,
                                                                 time_point give_up) {
    if (auto why = refused()) return std::unexpected(*why);
    return core_->inspect(name, give_up);
}

result<std::uint32_t> zookeeper_lease_store::evict(const lock_name& name, std::string_view reason,
                                                   time_point give_up) {
    if (auto why = refused()) return std::unexpected(*why);
    return lease_core::evict(core_, name, std::string(reason), give_up).wait();
}

result<lease_reply> zookeeper_lease_store::adopt(const lease_adoption& asked, time_point give_up) {
    if (auto why = refused()) return std::unexpected(*why);
    return lease_core::adopt(core_, asked, give_up).wait();
}

result<std::vector<eviction_info>> zookeeper_lease_store::evictions(const lock_name& name,
                                                                    time_point give_up) {
    if (auto why = refused()) return std::unexpected(*why);
    return core_->evictions(name, give_up);
}

}  // namespace holdfast::zookeeper
