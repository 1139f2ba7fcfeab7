// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/lease_store.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

/// What a client still has to give back in the background, without threads, I/O or a clock.
///
/// Each request is sent until it is answered or its time is over, by when the engine has forgotten
/// it. A bounded number is in flight at once, so that thousands that are given back together do not
/// fill the engine's buffers; the others wait their turn, and none is dropped.
namespace holdfast::detail {

class leave_queue {
public:
    struct entry {
        ask::leave request;
        time_point until;
        time_point next;
    };
    using handle = std::shared_ptr<entry>;

    /// Requests in flight at once: enough for a pipeline to stay full.
    static constexpr std::size_t most_in_flight = 2048;
    /// Requests of one batch.
    static constexpr std::size_t most_at_once = 512;

    void add(ask::leave request, time_point until);

    /// What to send now; it counts as in flight until it is answered or failed.
    [[nodiscard]] std::vector<handle> due(time_point now);

    /// When due() has something to say, if nothing is answered before.
    [[nodiscard]] time_point next() const noexcept;

    void answered();
    void failed(handle one, time_point now);

    /// How many are not answered yet.
    [[nodiscard]] std::size_t size() const noexcept;

private:
    void take(std::deque<handle>& from, time_point now, std::vector<handle>& due);

    std::deque<handle> fresh_;
    std::deque<handle> again_;  ///< In the order of `next`: the pause is always the same.
    std::size_t in_flight_ = 0;
};

}  // namespace holdfast::detail
