// SPDX-License-Identifier: Apache-2.0
//
// A node's subscription is never made or ended under the mutex: its end waits for a handler that
// runs, and a handler may come here.
#include "driver/redis/shard_channels.hpp"

#include "runtime/fork_watch.hpp"

#include <algorithm>
#include <vector>

namespace holdfast::redis {
namespace {

constexpr duration one_try = std::chrono::seconds(1);
constexpr duration pause_between = std::chrono::milliseconds(20);

push_handler forward_to(const std::shared_ptr<listener>& who) {
    return [who](const push_event& event) { who->tell(event); };
}

}  // namespace

class shard_subscription final : public subscription {
public:
    shard_subscription(std::shared_ptr<shard_channels> home, shard_channels::place which,
                       std::shared_ptr<listener> who)
        : home_(std::move(home)), which_(which), who_(std::move(who)) {}
    ~shard_subscription() override {
        if (generation_ != detail::fork_generation()) return;
        who_->end();
        home_->leave(which_);
    }

private:
    std::shared_ptr<shard_channels> home_;
    shard_channels::place which_;
    std::shared_ptr<listener> who_;
    unsigned generation_ = detail::fork_generation();
};

result<std::unique_ptr<subscription>> shard_channels::subscribe(std::string_view channel,
                                                                push_handler handler,
                                                                time_point give_up) {
    auto who = std::make_shared<listener>(std::move(handler));
    const unsigned slot = hash_slot(channel);
    place mine;
    {
        const std::scoped_lock guard(mutex_);
        mine = entries_.insert(entries_.end(), entry{std::string(channel), who, {}, {}, false});
    }
    auto made = std::make_unique<shard_subscription>(shared_from_this(), mine, who);
    while (true) {
        auto node = nodes_.owner(slot, give_up);
        if (!node) return std::unexpected(node.error());
        {
            const std::scoped_lock guard(mutex_);
            mine->at = *node;
            mine->lost = false;
        }
        const time_point limit = std::min(give_up, time_.now() + one_try);
        auto there =
            (*node)->link->subscribe(channel, channel_scope::sharded, forward_to(who), limit);
        if (there) {
            const std::scoped_lock guard(mutex_);
            mine->there = std::move(*there);
            return made;
        }
        const errc code = there.error().code;
        const bool passes = code == errc::unavailable || code == errc::timed_out;
        if (!passes || time_.now() + pause_between >= give_up) {
            return std::unexpected(there.error());
        }
        nodes_.await_refresh(std::min(give_up, time_.now() + one_try));
    }
}

void shard_channels::leave(place which) {
    std::list<entry> gone;
    const std::scoped_lock guard(mutex_);
    if (!closed_) gone.splice(gone.end(), entries_, which);
    // `gone` is declared before the lock, and so destroyed after it is released.
}

void shard_channels::lost(const cluster_node& at, const std::string& channel) {
    const std::scoped_lock guard(mutex_);
    for (entry& one : entries_) {
        if (one.channel == channel && one.at && one.at->address == at.address) one.lost = true;
    }
}

void shard_channels::reconcile() {
    struct move {
        std::string channel;
        std::shared_ptr<listener> who;
        node_use to;
        std::unique_ptr<subscription> there{};
    };
    std::vector<move> moves;
    {
        const std::scoped_lock guard(mutex_);
        for (entry& one : entries_) {
            if (one.there == nullptr) continue;
            const auto node = nodes_.owner(hash_slot(one.channel), time_point::min());
            if (!node || (*node == one.at && !one.lost)) continue;
            moves.push_back({one.channel, one.who, *node});
            one.at = *node;
            one.lost = false;
        }
    }
    for (move& one : moves) {
        one.there = one.to->link->subscriptions().adopt(one.channel, channel_scope::sharded,
                                                        forward_to(one.who));
    }
    // What a swap leaves in `moves` is the old subscription, or one whose channel was left.
    const std::scoped_lock guard(mutex_);
    for (move& one : moves) {
        const auto found = std::ranges::find(entries_, one.who, &entry::who);
        if (found != entries_.end()) std::swap(found->there, one.there);
    }
}

void shard_channels::close() {
    std::list<entry> all;
    const std::scoped_lock guard(mutex_);
    closed_ = true;
    all.swap(entries_);
}

}  // namespace holdfast::redis
