// SPDX-License-Identifier: Apache-2.0
//
// A node's link is made when the node is first heard of, and connects when it is first used. It is
// destroyed when the node serves nothing, nobody uses it, and nobody has asked for it for a while:
// a node that takes its first slots is known from ASK before it is in any map.
#include "driver/redis/cluster_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::redis {
namespace {

constexpr duration ask_timeout = std::chrono::milliseconds(500);
constexpr duration keep_unlisted = std::chrono::seconds(30);
constexpr std::size_t asked_at_once = 3;

}  // namespace

cluster_nodes::cluster_nodes(const redis_cluster_target& target, std::shared_ptr<tls_context> tls,
                             clock& time, entropy& chance, hooks told)
    : profile_{target.options, std::move(tls), {}},
      seeds_(target.seeds),
      time_(time),
      chance_(chance),
      told_(std::move(told)),
      turn_(static_cast<std::size_t>(chance.below(seeds_.size()))) {}

// Requires: the mutex is held.
cluster_node& cluster_nodes::make(const server_address& address) {
    const auto found =
        std::ranges::find_if(nodes_, [&](const auto& node) { return node->address == address; });
    if (found != nodes_.end()) {
        (*found)->wanted_at = time_.now();
        return **found;
    }
    nodes_.push_back(std::make_unique<cluster_node>());
    cluster_node& node = *nodes_.back();
    node.address = address;
    node.number = ++numbered_;
    node.wanted_at = time_.now();
    // A connection that has to be made again is the first sign of a node's end.
    const auto where = [this, &node](time_point) -> result<server_address> {
        if (node.met.exchange(true)) told_.suspect();
        return node.address;
    };
    node.link = std::make_unique<server_link>(profile_, where, time_, chance_);
    node.link->subscriptions().on_moved(
        [this, &node](const std::string& channel) { told_.channel_moved(node, channel); });
    return node;
}

result<node_use> cluster_nodes::owner(std::optional<unsigned> slot, time_point give_up) {
    lock held(mutex_);
    while (!mapped_) {
        const std::uint64_t seen = ended_;
        held.unlock();
        told_.suspect();
        held.lock();
        const time_point limit = std::min(give_up, time_.now() + profile_.options.connect_timeout);
        while (!mapped_ && !closing_ && ended_ == seen && time_.now() < limit) {
            time_.wait_until(held, changed_, limit);
        }
        if (mapped_) break;
        if (closing_) return fail(errc::cancelled, "the client was closed");
        if (time_.now() >= give_up) {
            return fail(errc::timed_out, "cluster: no slot map in time: " + problem_.detail);
        }
        return fail(problem_.code, "cluster: no slot map: " + problem_.detail);
    }
    if (slot) {
        cluster_node* const node = owners_[*slot];
        if (node != nullptr) return node_use(*node);
        return fail(errc::unavailable, fmt::format("cluster: nobody serves slot {}", *slot));
    }
    const auto found =
        std::ranges::find_if(owners_, [](const cluster_node* n) { return n != nullptr; });
    if (found == owners_.end()) return fail(errc::unavailable, "cluster: nobody serves any slot");
    return node_use(**found);
}

node_use cluster_nodes::other_than(const node_use& failed) {
    const lock held(mutex_);
    for (cluster_node* node : owners_) {
        if (node == nullptr || (failed && node->address == failed->address)) continue;
        return node_use(*node);
    }
    return failed;
}

node_use cluster_nodes::at(const server_address& address) {
    const lock held(mutex_);
    return node_use(make(address));
}

server_address cluster_nodes::any_address() {
    const lock held(mutex_);
    ++turn_;
    if (nodes_.empty()) return seeds_[turn_ % seeds_.size()];
    return nodes_[turn_ % nodes_.size()]->address;
}

std::size_t cluster_nodes::node_of(unsigned slot) const {
    const lock held(mutex_);
    const cluster_node* const node = owners_[slot];
    return node == nullptr ? 0 : node->number;
}

bool cluster_nodes::knows(const server_address& address) {
    const lock held(mutex_);
    const auto same = [&](const auto& node) { return node->address == address; };
    return std::ranges::any_of(nodes_, same);
}

bool cluster_nodes::mapped() const {
    const lock held(mutex_);
    return mapped_;
}

error cluster_nodes::problem() const {
    const lock held(mutex_);
    return {problem_.code, "cluster: no slot map: " + problem_.detail};
}

void cluster_nodes::moved(unsigned slot, const server_address& to) {
    {
        const lock held(mutex_);
        owners_[slot] = &make(to);
        knows_best_ = to;
    }
    told_.suspect();
}

void cluster_nodes::await_refresh(time_point give_up) {
    lock held(mutex_);
    const std::uint64_t wanted = begun_ + 1;
    held.unlock();
    told_.suspect();
    held.lock();
    while (ended_ < wanted && !closing_ && time_.now() < give_up) {
        time_.wait_until(held, changed_, give_up);
    }
}

std::vector<node_use> cluster_nodes::whom_to_ask() {
    const lock held(mutex_);
    std::vector<server_address> list;
    const auto add = [&](const server_address& one) {
        if (list.size() < asked_at_once && std::ranges::find(list, one) == list.end()) {
            list.push_back(one);
        }
    };
    if (knows_best_) add(*knows_best_);
    knows_best_.reset();
    ++turn_;
    // Seeds have their turn too: they may be the only ones left to know where all others went.
    for (std::size_t i = 0; i < nodes_.size() && list.size() + 1 < asked_at_once; ++i) {
        add(nodes_[(turn_ + i) % nodes_.size()]->address);
    }
    for (std::size_t i = 0; i < seeds_.size(); ++i) add(seeds_[(turn_ + i) % seeds_.size()]);
    std::vector<node_use> out;
    for (const server_address& one : list) out.emplace_back(make(one));
    return out;
}

// [[first, last, [host, port, id, …], replica …] …]
std::vector<cluster_nodes::slot_range> cluster_nodes::read_slots(const reply& answer,
                                                                 const server_address& from) {
    std::vector<slot_range> out;
    for (const reply& one : answer.elements()) {
        const auto& parts = one.elements();
        if (parts.size() < 3 || parts[2].elements().size() < 2) continue;
        const auto first = parts[0].number();
        const auto last = parts[1].number();
        const auto port = parts[2].elements()[1].number();
        if (first < 0 || last >= std::int64_t{slot_count} || port <= 0 || port > 65535) continue;
        slot_range range{static_cast<unsigned>(first), static_cast<unsigned>(last), {}};
        range.owner.host = parts[2].elements()[0].text();
        range.owner.port = static_cast<std::uint16_t>(port);
        if (range.owner.host.empty() || range.owner.host == "?") range.owner.host = from.host;
        out.push_back(std::move(range));
    }
    return out;
}

// Asks them all at once; the first map that comes is taken.
result<std::vector<cluster_nodes::slot_range>> cluster_nodes::ask(
    const std::vector<node_use>& whom) {
    struct round {
        std::mutex mutex;
        std::condition_variable changed;
        std::vector<slot_range> map;
        std::size_t awaited;
        error problem{errc::unavailable, "no node answered CLUSTER SLOTS in time"};
    };
    const auto now = std::make_shared<round>();
    now->awaited = whom.size();
    const time_point limit = time_.now() + ask_timeout;
    for (const node_use& node : whom) {
        node->link->submit(words("CLUSTER", "SLOTS").idempotent(), limit,
                           [now, from = node->address](result<reply> answer) {
                               const std::scoped_lock guard(now->mutex);
                               if (!answer) {
                                   now->problem = std::move(answer.error());
                               } else if (answer->is_error()) {
                                   now->problem = to_error(*answer);
                               } else if (now->map.empty()) {
                                   now->map = read_slots(*answer, from);
                               }
                               --now->awaited;
                               now->changed.notify_all();
                           });
    }
    lock held(now->mutex);
    while (now->map.empty() && now->awaited > 0 && time_.now() < limit) {
        time_.wait_until(held, now->changed, limit);
    }
    if (now->map.empty()) return std::unexpected(now->problem);
    return std::move(now->map);
}

void cluster_nodes::apply(const std::vector<slot_range>& ranges) {
    owners_.fill(nullptr);
    for (const slot_range& range : ranges) {
        cluster_node& node = make(range.owner);
        for (unsigned slot = range.first; slot <= range.last; ++slot) owners_[slot] = &node;
    }
    mapped_ = true;
}

bool cluster_nodes::refresh() {
    std::uint64_t mine = 0;
    {
        const lock held(mutex_);
        if (closing_) return true;
        mine = ++begun_;
    }
    auto map = ask(whom_to_ask());
    const lock held(mutex_);
    if (map) {
        apply(*map);
    } else {
        problem_ = std::move(map.error());
        if (problem_.code != errc::denied) problem_.code = errc::unavailable;
    }
    ended_ = mine;
    changed_.notify_all();
    return map.has_value();
}

void cluster_nodes::bury() {
    std::vector<std::unique_ptr<cluster_node>> dead;
    const time_point now = time_.now();
    const lock held(mutex_);
    for (auto& node : nodes_) {
        if (node->users > 0 || now - node->wanted_at < keep_unlisted) continue;
        if (std::ranges::find(owners_, node.get()) != owners_.end()) continue;
        dead.push_back(std::move(node));
    }
    std::erase(nodes_, nullptr);
    // `dead` is declared before the lock, and so destroyed after it is released.
}

void cluster_nodes::close() {
    const lock held(mutex_);
    closing_ = true;
    changed_.notify_all();
}

void cluster_nodes::read(redis_statistics& out) const {
    const lock held(mutex_);
    for (const auto& node : nodes_) node->link->read(out);
}

}  // namespace holdfast::redis
