// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/etcd/pending.hpp"

#include <holdfast/clock.hpp>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

/// Transactions of one process that share a key go one after the other: of those that go at once,
/// all but one would have to be repeated.
namespace holdfast::etcd {

/// Thread safety: all members may be called from any thread.
class key_turns : public std::enable_shared_from_this<key_turns> {
public:
    explicit key_turns(clock& time) : clock_(time) {}

    /// True when it is this caller's turn for all of the keys; false if `give_up` has come before.
    /// Requires: the keys are in order, each once.
    static pending<bool> enter(std::shared_ptr<key_turns> self, std::vector<std::string> keys,
                               time_point give_up);
    void leave(const std::vector<std::string>& keys);

private:
    /// Nothing: the key is free, and is now the caller's.
    [[nodiscard]] std::optional<pending<bool>> take_or_queue(const std::string& key);
    void leave(const std::string& key);

    clock& clock_;
    std::mutex mutex_;
    std::map<std::string, std::deque<pending<bool>>> taken_;  // with those who wait
};

}  // namespace holdfast::etcd
