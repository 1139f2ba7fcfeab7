// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/lease_store.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

/// What a client still has to give back in the background, without threads, I/O or a clock.
///
/// Each request is sent until it is answered or its time is over, by when the engine has forgotten
/// it. A bounded number is in flight at once, so that thousands that are given back together do not
/// fill the engine's buffers; the others wait their turn, and none is dropped.
///
/// A request that was sent and never answered may be carried out late, when its owner has already
/// been given back: then it takes the name for nobody. So the leave of such an owner is repeated,
/// once a second, until it has found as much as there was in doubt or its time is over.
namespace holdfast::detail {

class leave_queue {
public:
    struct entry {
        ask::leave request;
        time_point until;
        time_point next;
        /// How often it must find something before an answer ends it.
        std::uint32_t finds = 0;
        /// Nothing of the owner is known to be there: it was released, or an answer said so.
        bool only_in_doubt = false;
        /// It failed since hurry(), and was sent again at once.
        bool hurried = false;
    };
    using handle = std::shared_ptr<entry>;

    /// Requests in flight at once: enough for a pipeline to stay full.
    static constexpr std::size_t most_in_flight = 2048;
    /// Requests of one batch.
    static constexpr std::size_t most_at_once = 512;

    void add(ask::leave request, time_point until, std::uint32_t finds = 0);

    /// The owner has released what it held; a late request of it may still be carried out.
    void add_doubt(ask::leave request, time_point until, std::uint32_t finds);

    /// From now on any answer is enough, and nothing waits for a pause that has begun, nor for one
    /// after its first failure; what is only in doubt is sent once more, and dropped if that fails:
    /// the client closes.
    void hurry();

    /// What to send now; it counts as in flight until it is answered or failed.
    [[nodiscard]] std::vector<handle> due(time_point now);

    /// When due() has something to say, if nothing is answered before.
    [[nodiscard]] time_point next() const noexcept;

    /// `found`: there was something to end.
    void answered(handle one, bool found, time_point now);
    void failed(handle one, time_point now);

    /// How many are not answered yet.
    [[nodiscard]] std::size_t size() const noexcept;

private:
    void take(std::deque<handle>& from, time_point now, std::vector<handle>& due);

    std::deque<handle> fresh_;
    std::deque<handle> again_;    ///< In the order of `next`: the pause is always the same.
    std::deque<handle> doubted_;  ///< Answered, and sent again in case of a late request.
    std::size_t in_flight_ = 0;
    bool hurries_ = false;
};

}  // namespace holdfast::detail
