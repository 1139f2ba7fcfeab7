// SPDX-License-Identifier: Apache-2.0
#include "push/room_track.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::push {

track_step room_track::ask() {
    reading_ = true;
    again_ = false;
    heard_ = {};
    return {.read = read_order{.epoch = at_.epoch,
                               .after = at_.offset,
                               .most = ready_ ? most_read_ : 0,
                               .seen = ready_,
                               .fresh_epoch = {}}};
}

track_step room_track::start() {
    return ask();
}

track_step room_track::doubt() {
    if (!reading_) return ask();
    again_ = true;
    return {};
}

track_step room_track::hear(const shared_frame& f) {
    if (reading_) {
        if (f->epoch() != heard_.epoch || f->last() > heard_.offset) {
            heard_ = {f->epoch(), f->last()};
        }
        return {};
    }
    if (at_.epoch.empty()) at_.epoch = f->epoch();  // a room that had no message yet
    if (f->epoch() != at_.epoch || f->first() > at_.offset + 1) {
        ++gaps_;
        track_step step = ask();
        heard_ = {f->epoch(), f->last()};
        return step;
    }
    if (f->last() <= at_.offset) return {};
    track_step step;
    step.deliver.push_back(f->first() <= at_.offset ? cut(f, at_.offset) : f);
    at_.offset = f->last();
    return step;
}

track_step room_track::read_failed() {
    reading_ = false;
    return {.retry = true};
}

track_step room_track::read(read_answer answer) {
    reading_ = false;
    track_step step;
    if (!ready_) {
        ready_ = true;
        at_ = {answer.epoch, answer.cursor};
        step.ready = at_;
    } else if (!answer.epoch.empty()) {
        std::uint64_t after = at_.offset;
        if (at_.epoch != answer.epoch && !at_.epoch.empty()) {
            // All of the new epoch that is there; messages say where it begins.
            after = answer.messages.empty() ? answer.last : answer.messages.front().offset - 1;
        }
        if (answer.last > after) {
            repaired_ += answer.messages.size();
            step.deliver.push_back(std::make_shared<frame>(
                room_, answer.epoch, after + 1, answer.last, std::move(answer.messages)));
        }
        at_ = {answer.epoch, std::max(answer.last, after)};
    } else if (!at_.epoch.empty()) {
        at_ = {};  // the engine has forgotten the room
    }

    const position heard = std::exchange(heard_, {});
    const bool behind = at_.offset < answer.cursor ||
                        (heard.epoch == at_.epoch && heard.offset > at_.offset) || again_;
    if (behind) {
        step.read = ask().read;
    } else if (!heard.epoch.empty() && heard.epoch != at_.epoch) {
        step.retry = true;
    }
    return step;
}

room_history to_history(const std::string& room, const position& after, std::uint64_t ticket,
                        read_answer answer) {
    room_history history{.room = room, .ticket = ticket, .at = {answer.epoch, answer.last}};
    if (answer.epoch.empty()) {
        history.at = {};
        history.recoverable = after.offset == 0;
        return history;
    }
    const bool same = after.epoch == answer.epoch || (after.epoch.empty() && after.offset == 0);
    if (!same || after.offset < answer.floor || after.offset > answer.cursor) {
        history.at = {answer.epoch, answer.cursor};
        return history;
    }
    history.recoverable = true;
    if (answer.last <= after.offset) return history;
    history.missed = std::make_shared<frame>(room, answer.epoch, after.offset + 1, answer.last,
                                             std::move(answer.messages));
    return history;
}

}  // namespace holdfast::push
