// SPDX-License-Identifier: Apache-2.0
#include "lease/quorum/quorum_cleanup.hpp"

#include "core/validity.hpp"

#include <algorithm>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

constexpr duration first_retry = 200ms;
constexpr duration longest_pause = 5s;

}  // namespace

quorum_cleanup::quorum_cleanup(std::shared_ptr<quorum_nodes> door,
                               std::shared_ptr<delayed_calls> calls, clock& time,
                               duration node_timeout)
    : door_(std::move(door)), calls_(std::move(calls)), time_(time), node_timeout_(node_timeout) {}

void quorum_cleanup::add(std::size_t node, ask::leave request, time_point until) {
    const key which{request.owner, request.name, node};
    {
        const std::scoped_lock guard(mutex_);
        if (all_.size() >= most) return;
        if (!all_.try_emplace(which, leaving{std::move(request), until, first_retry}).second)
            return;
        size_ = all_.size();
    }
    const auto again = [self = weak_from_this(), which] {
        if (const auto here = self.lock()) here->send(which);
    };
    if (!calls_->at(later(time_.now(), first_retry), again)) forget(which);
}

std::vector<bool> quorum_cleanup::of(const owner_token& owner, const lock_name& name) const {
    std::vector<bool> nodes;
    if (size_ == 0) return nodes;
    const std::scoped_lock guard(mutex_);
    for (auto at = all_.lower_bound({owner, name, 0});
         at != all_.end() && at->first.owner == owner && at->first.name == name; ++at) {
        nodes.resize(door_->size());
        nodes[at->first.node] = true;
    }
    return nodes;
}

void quorum_cleanup::send_all() {
    std::vector<key> all;
    {
        const std::scoped_lock guard(mutex_);
        for (const auto& [which, what] : all_) all.push_back(which);
    }
    for (const key& which : all) send(which);
}

void quorum_cleanup::send(const key& which) {
    std::vector<lease_request> one;
    {
        const std::scoped_lock guard(mutex_);
        const auto found = all_.find(which);
        if (found == all_.end()) return;
        one.emplace_back(found->second.request);
    }
    door_->submit(which.node, std::move(one), later(time_.now(), node_timeout_),
                  [self = weak_from_this(), which](std::size_t, const result<lease_reply>& reply) {
                      if (const auto here = self.lock()) here->answered(which, reply);
                  });
}

void quorum_cleanup::answered(const key& which, const result<lease_reply>& reply) {
    const auto* done = reply ? std::get_if<answer::released>(&*reply) : nullptr;
    if (done != nullptr && done->found) return forget(which);
    const time_point now = time_.now();
    duration pause{};
    {
        const std::scoped_lock guard(mutex_);
        const auto found = all_.find(which);
        if (found == all_.end()) return;
        pause = found->second.pause = std::min(2 * found->second.pause, longest_pause);
        if (now >= found->second.until) {
            all_.erase(found);
            size_ = all_.size();
            return;
        }
    }
    const auto again = [self = weak_from_this(), which] {
        if (const auto here = self.lock()) here->send(which);
    };
    if (!calls_->at(later(now, pause), again)) forget(which);
}

void quorum_cleanup::forget(const key& which) {
    const std::scoped_lock guard(mutex_);
    all_.erase(which);
    size_ = all_.size();
}

}  // namespace holdfast::detail
