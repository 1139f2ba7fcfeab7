// SPDX-License-Identifier: Apache-2.0
#include "cache/channel_queue.hpp"

#include <utility>

namespace holdfast::detail {

bool channel_queue::full(std::size_t more) const {
    return waiting_.size() >= options_.queue || bytes_ + more > options_.queue_bytes;
}

void channel_queue::push(std::string_view bytes) {
    {
        const std::scoped_lock guard(mutex_);
        if (ended_) return;
        message_bytes made{std::string(bytes), {}, 0, false};
        if (options_.slow == slow_policy::drop_oldest) {
            // What was lost before a message that goes was lost before the next one, too.
            while (!waiting_.empty() && full(bytes.size())) {
                message_bytes& oldest = waiting_.front();
                const std::uint64_t lost = oldest.lost + 1;
                const bool gap = oldest.gap;
                bytes_ -= oldest.bytes.size();
                waiting_.pop_front();
                (waiting_.empty() ? lost_ : waiting_.front().lost) += lost;
                if (gap) (waiting_.empty() ? gap_ : waiting_.front().gap) = true;
            }
        }
        if (full(bytes.size())) {
            if (options_.slow == slow_policy::end) {
                ended_ = true;
            } else {
                ++lost_;
            }
        } else {
            made.lost = std::exchange(lost_, 0);
            made.gap = std::exchange(gap_, false);
            bytes_ += bytes.size();
            waiting_.push_back(std::move(made));
        }
    }
    told_.notify_all();
}

void channel_queue::gap() {
    const std::scoped_lock guard(mutex_);
    gap_ = true;
}

result<std::optional<message_bytes>> channel_queue::pop(clock& time, time_point until,
                                                        const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] {
        {
            const std::scoped_lock guard(mutex_);
        }
        told_.notify_all();
    });
    std::unique_lock held(mutex_);
    while (waiting_.empty()) {
        if (ended_) return fail(errc::busy, "the subscriber was too slow: its queue was full");
        if (stop.stop_requested()) return fail(errc::cancelled, "cancelled");
        if (time.now() >= until) return std::nullopt;
        time.wait_until(held, told_, until);
    }
    message_bytes first = std::move(waiting_.front());
    waiting_.pop_front();
    bytes_ -= first.bytes.size();
    return first;
}

}  // namespace holdfast::detail
