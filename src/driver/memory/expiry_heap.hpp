// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/require.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// The keys that expire, the next one on top.
///
/// A heap of four-way nodes in one array; each key knows its place in it, so that a key's expiry is
/// changed or dropped in O(log n) without a search. The common case, a new key that expires later
/// than all others, is a push to the end and one comparison.
namespace holdfast::memory {

/// Place(node) gives a reference to where the node keeps its place: std::uint32_t, `nowhere` while
/// it is not in the heap.
template <class Node, class Place>
class expiry_heap {
public:
    static constexpr std::uint32_t nowhere = UINT32_MAX;

    [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }

    /// Requires: not empty.
    [[nodiscard]] std::int64_t next_time() const noexcept { return front().when; }
    [[nodiscard]] Node& next() const noexcept { return *front().node; }

    /// Puts the node in, or moves it.
    void set(Node& n, std::int64_t when) {
        std::uint32_t at = Place{}(n);
        if (at == nowhere) {
            at = static_cast<std::uint32_t>(items_.size());
            items_.push_back({when, &n});
            Place{}(n) = at;
            rise(at);
        } else {
            const std::int64_t old = std::exchange(items_[at].when, when);
            when < old ? rise(at) : sink(at);
        }
    }

    void remove(Node& n) noexcept {
        const std::uint32_t at = std::exchange(Place{}(n), nowhere);
        if (at == nowhere) return;
        const item last = items_.back();
        items_.pop_back();
        if (at == items_.size()) return;
        items_[at] = last;
        Place{}(*last.node) = at;
        rise(at);
        sink(Place{}(*last.node));
    }

    void clear() noexcept { items_ = {}; }

private:
    struct item {
        std::int64_t when;
        Node* node;
    };

    [[nodiscard]] const item& front() const noexcept {
        detail::require(!items_.empty(), "the heap is not empty");
        return items_.front();
    }

    void put(std::uint32_t at, const item& it) noexcept {
        items_[at] = it;
        Place{}(*it.node) = at;
    }

    void rise(std::uint32_t at) noexcept {
        const item moving = items_[at];
        while (at > 0) {
            const std::uint32_t parent = (at - 1) / 4;
            if (items_[parent].when <= moving.when) break;
            put(at, items_[parent]);
            at = parent;
        }
        put(at, moving);
    }

    void sink(std::uint32_t at) noexcept {
        const item moving = items_[at];
        const std::size_t count = items_.size();
        while (true) {
            const std::size_t from = std::size_t{at} * 4 + 1;
            if (from >= count) break;
            std::size_t least = from;
            for (std::size_t child = from + 1; child < from + 4 && child < count; ++child) {
                if (items_[child].when < items_[least].when) least = child;
            }
            if (items_[least].when >= moving.when) break;
            put(at, items_[least]);
            at = static_cast<std::uint32_t>(least);
        }
        put(at, moving);
    }

    std::vector<item> items_;
};

}  // namespace holdfast::memory
