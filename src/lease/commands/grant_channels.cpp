// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/grant_channels.hpp"

#include "core/hash_slot.hpp"
#include "core/validity.hpp"
#include "lease/commands/grant_message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast {
namespace {

// For which others wait in turn. If it is not enough, the waiter is not heard yet, and looks. A
// request that cannot be heard has as much time again, to learn why.
constexpr duration longest_operation = std::chrono::seconds(1);

constexpr std::string_view channel_prefix = "holdfast:grants:";

}  // namespace

grant_channels::grant_channels(command_engine& engine, entropy& chance, key_scope scope)
    : engine_(engine), scope_(scope), id_(owner_token::draw(chance).value()) {
    global_.name = fmt::format("{}{}", channel_prefix, id_);
}

void grant_channels::introduce(const client_id& id) {
    id_ = id.value();
    global_.name = fmt::format("{}{}", channel_prefix, id_);
}

std::string grant_channels::prefix_for(std::string_view lock) const {
    if (scope_ == key_scope::server) return std::string(channel_prefix);
    return fmt::format("{{{}}}{}", slot_tag(hash_slot(lock)), channel_prefix);
}

void grant_channels::on_push(lease_store::push_handler handler) {
    handler_ = std::move(handler);
}

grant_channels::channel& grant_channels::channel_for(std::string_view lock) {
    if (scope_ == key_scope::server) return global_;
    const unsigned slot = hash_slot(lock);
    const std::scoped_lock guard(mutex_);
    channel& here = by_slot_[slot];
    if (here.name.empty()) here.name = prefix_for(lock) + id_;
    return here;
}

std::string_view grant_channels::listen(std::string_view lock, time_point give_up) {
    channel& here = channel_for(lock);
    if (here.heard.load(std::memory_order_acquire)) return here.name;
    const std::scoped_lock guard(here.subscribing);
    if (here.line != nullptr) return here.name;
    const auto scope = scope_ == key_scope::slot ? channel_scope::sharded : channel_scope::global;
    auto made = engine_.subscribe(
        here.name, scope, [this](const push_event& event) { hear(event); }, give_up);
    if (!made) return here.name;
    here.line = std::move(*made);
    here.heard.store(true, std::memory_order_release);
    return here.name;
}

grant_channels::~grant_channels() {
    if (!subscriber_.joinable()) return;
    subscriber_.request_stop();
    subscriber_.join();
    for (const operation& left : operations_) left.then(channel_for(left.lock).name);
}

void grant_channels::when_heard(std::string_view lock, time_point give_up,
                                std::function<void(std::string_view)> then) {
    const channel& here = channel_for(lock);
    if (here.heard.load(std::memory_order_acquire)) {
        then(here.name);
        return;
    }
    const std::scoped_lock guard(mutex_);
    const time_point now = engine_.time().now();
    const time_point soon = later(now, std::min((give_up - now) / 2, longest_operation));
    operations_.push_back({std::string(lock), soon, std::move(then)});
    if (!subscriber_.joinable()) {
        subscriber_ =
            std::jthread([this](const std::stop_token& stop) { subscribe_for_others(stop); });
    }
    operations_changed_.notify_one();
}

void grant_channels::subscribe_for_others(const std::stop_token& stop) {
    for (;;) {
        std::unique_lock held(mutex_);
        operations_changed_.wait(held, stop, [&] { return !operations_.empty(); });
        if (stop.stop_requested()) return;
        const operation next = std::move(operations_.front());
        operations_.pop_front();
        held.unlock();
        next.then(listen(next.lock, next.give_up));
    }
}

void grant_channels::hear(const push_event& event) {
    if (event.type == push_event::kind::gap) {
        handler_(poll_again{});
        return;
    }
    if (const auto given = parse_grant(event.payload)) return handler_(*given);
    if (const auto told = parse_eviction(event.payload)) handler_(*told);
}

}  // namespace holdfast
