// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/channel_bytes.hpp>
#include <holdfast/clock.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <stop_token>

/// What a live subscriber has not asked for yet: bounded in messages and bytes.
///
/// Thread safety: all members may be called from any thread.
namespace holdfast::detail {

class channel_queue {
public:
    explicit channel_queue(const subscribe_options& options) : options_(options) {}

    /// A message came.
    void push(std::string_view bytes);
    /// Messages may have been missed.
    void gap();

    /// Errors: cancelled; busy, if the queue ended. Nothing: `until` has come.
    [[nodiscard]] result<std::optional<message_bytes>> pop(clock& time, time_point until,
                                                           const std::stop_token& stop);

private:
    [[nodiscard]] bool full(std::size_t more) const;

    const subscribe_options options_;
    std::mutex mutex_;
    std::condition_variable told_;
    std::deque<message_bytes> waiting_;
    std::size_t bytes_ = 0;
    std::uint64_t lost_ = 0;  // behind the last that waits
    bool gap_ = false;        // the same
    bool ended_ = false;
};

}  // namespace holdfast::detail
