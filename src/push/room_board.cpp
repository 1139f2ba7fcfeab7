// SPDX-License-Identifier: Apache-2.0
#include <holdfast/push/room_board.hpp>

namespace holdfast::push {

room_figures operator-(const room_figures& a, const room_figures& b) noexcept {
    return {.messages = a.messages - b.messages,
            .duplicates = a.duplicates - b.duplicates,
            .deferred = a.deferred - b.deferred,
            .skipped = a.skipped - b.skipped,
            .contended = a.contended - b.contended,
            .frames = a.frames - b.frames,
            .sent = a.sent - b.sent,
            .failures = a.failures - b.failures,
            .shed = a.shed - b.shed,
            .wait_ms = a.wait_ms - b.wait_ms};
}

room_board::room_board(std::size_t most_rooms) : most_(most_rooms) {}

void room_board::add(std::string_view room, std::uint64_t room_figures::* which,
                     std::uint64_t amount) {
    if (amount == 0) return;
    const std::scoped_lock guard(mutex_);
    auto found = by_name_.find(room);
    if (found != by_name_.end()) {
        newest_.splice(newest_.begin(), newest_, found->second);
    } else {
        if (newest_.size() >= most_) {
            by_name_.erase(newest_.back().room);
            newest_.pop_back();
        }
        newest_.push_front({.room = std::string(room)});
        found = by_name_.emplace(newest_.front().room, newest_.begin()).first;
    }
    found->second->total.*which += amount;
}

void room_board::turn() {
    const std::scoped_lock guard(mutex_);
    for (entry& one : newest_) {
        one.before = one.last;
        one.last = one.total;
    }
}

room_record room_board::find(std::string_view room) const {
    const std::scoped_lock guard(mutex_);
    const auto found = by_name_.find(room);
    if (found == by_name_.end()) return {};
    const entry& one = *found->second;
    return {.total = one.total, .recent = one.total - one.before};
}

std::size_t room_board::size() const {
    const std::scoped_lock guard(mutex_);
    return newest_.size();
}

}  // namespace holdfast::push
