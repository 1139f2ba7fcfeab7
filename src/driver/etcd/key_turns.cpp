// SPDX-License-Identifier: Apache-2.0
#include "driver/etcd/key_turns.hpp"

#include <grpcpp/alarm.h>

#include <utility>

namespace holdfast::etcd {

// All take their keys in the same order, so nobody waits in a circle.
pending<bool> key_turns::enter(std::shared_ptr<key_turns> self, std::vector<std::string> keys,
                               time_point give_up) {
    std::vector<std::string> mine;
    for (const std::string& key : keys) {
        if (auto turn = self->take_or_queue(key)) {
            grpc::Alarm timeout;
            // style: allow clock, because gRPC counts by this one
            timeout.Set(std::chrono::system_clock::now() + (give_up - self->clock_.now()),
                        [late = *turn](bool fired) {
                            if (fired) late.complete(false);
                        });
            const bool came = co_await *turn;
            if (!came) {
                self->leave(mine);
                co_return false;
            }
        }
        mine.push_back(key);
    }
    co_return true;
}

std::optional<pending<bool>> key_turns::take_or_queue(const std::string& key) {
    const std::scoped_lock guard(mutex_);
    const auto [at, is_free] = taken_.try_emplace(key);
    if (is_free) return std::nullopt;
    return at->second.emplace_back();
}

void key_turns::leave(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) leave(key);
}

// One whose time is over does not take its turn any more.
void key_turns::leave(const std::string& key) {
    for (;;) {
        pending<bool> next;
        {
            const std::scoped_lock guard(mutex_);
            const auto at = taken_.find(key);
            if (at->second.empty()) {
                taken_.erase(at);
                return;
            }
            next = std::move(at->second.front());
            at->second.pop_front();
        }
        if (next.complete(true)) return;
    }
}

}  // namespace holdfast::etcd
