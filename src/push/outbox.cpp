// SPDX-License-Identifier: Apache-2.0
#include <holdfast/push/outbox.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::push {

bool outbox::above(std::size_t quarters) const noexcept {
    return bytes_ * 4 >= limits_.bytes * quarters || count() * 4 >= limits_.frames * quarters;
}

outbox::item* outbox::last_of(const std::string& room) noexcept {
    for (auto it = items_.rbegin(); it != items_.rend(); ++it) {
        if (it->text != nullptr) return nullptr;  // an answer keeps its place between frames
        if (it->frames.front()->room() == room) return &*it;
    }
    return nullptr;
}

// Only what must not be shed is left of each frame that waits.
void outbox::shed_all() {
    for (item& one : items_) {
        if (one.frames.empty()) continue;
        std::size_t before = 0;
        for (const shared_frame& f : one.frames) before += f->messages().size();
        shared_frame slim = merge(one.frames, message_class::important);
        shed_ += before - slim->messages().size();
        bytes_ -= one.bytes;
        one.bytes = slim->text()->size();
        bytes_ += one.bytes;
        one.frames.assign(1, std::move(slim));
    }
}

outbox::outcome outbox::put(const shared_frame& f) {
    item* const before = above(1) ? last_of(f->room()) : nullptr;
    const bool follows = before != nullptr && before->frames.back()->epoch() == f->epoch() &&
                         before->frames.back()->last() + 1 == f->first();
    if (follows) {
        before->frames.push_back(f);
        before->bytes += f->text()->size();
        ++merged_;
    } else {
        items_.push_back({.text = nullptr, .frames = {f}, .bytes = f->text()->size()});
    }
    bytes_ += f->text()->size();
    if (above(2)) shed_all();
    return bytes_ > limits_.bytes || count() > limits_.frames ? outcome::overflow : outcome::queued;
}

outbox::outcome outbox::put(shared_text text) {
    const std::size_t size = text->size();
    if (bytes_ + size > limits_.bytes || count() + 1 > limits_.frames) return outcome::overflow;
    items_.push_back({.text = std::move(text), .frames = {}, .bytes = size});
    bytes_ += size;
    return outcome::queued;
}

shared_text outbox::next() {
    if (items_.empty()) return nullptr;
    item one = std::move(items_.front());
    items_.pop_front();
    bytes_ -= one.bytes;
    if (one.text != nullptr) return one.text;
    const shared_frame whole = merge(one.frames);
    written_[whole->room()] = {whole->epoch(), whole->last()};
    return whole->text();
}

void outbox::forget(const std::string& room) {
    std::erase_if(items_, [&](const item& one) {
        const bool its = one.text == nullptr && one.frames.front()->room() == room;
        if (its) bytes_ -= one.bytes;
        return its;
    });
    written_.erase(room);
}

void outbox::start_at(const std::string& room, position at) {
    written_[room] = std::move(at);
}

}  // namespace holdfast::push
