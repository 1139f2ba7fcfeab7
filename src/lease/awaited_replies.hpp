// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/inline_io.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/engine/lease_store.hpp>

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Replies that come one by one on other threads, and the caller that waits for all of them: how a
/// store that only submits carries out an exchange.
namespace holdfast::detail {

/// Whoever may still reply shares it: a reply may come when the caller has given up.
/// Thread safety: all members may be called from any thread.
class awaited_replies {
public:
    explicit awaited_replies(std::size_t count) : in_(count), missing_(count) {}

    /// Requires: once for each index.
    void put(std::size_t index, result<lease_reply> one) {
        const std::scoped_lock guard(mutex_);
        in_[index] = std::move(one);
        if (--missing_ == 0) changed_.notify_one();
    }

    /// What is not there in time is outcome_unknown, with `silence` as its detail.
    /// Blocks: until all are there, at most until `give_up`. Requires: called once.
    void take(std::span<result<lease_reply>> replies, clock& time, time_point give_up,
              const std::string& silence) {
        if (inline_io* const turn = inline_io::current()) {
            turn->serve(give_up, [this] { return complete(); });
        }
        std::unique_lock held(mutex_);
        while (missing_ > 0 && time.now() < give_up) time.wait_until(held, changed_, give_up);
        for (std::size_t i = 0; i < replies.size(); ++i) {
            replies[i] = in_[i] ? std::move(*in_[i]) : fail(errc::outcome_unknown, silence);
        }
    }

    [[nodiscard]] bool complete() {
        const std::scoped_lock guard(mutex_);
        return missing_ == 0;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::optional<result<lease_reply>>> in_;
    std::size_t missing_;
};

}  // namespace holdfast::detail
