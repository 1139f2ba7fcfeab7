// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/require.hpp"
#include "driver/memory/hash_bytes.hpp"

#include <holdfast/entropy.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// A hash table from bytes to values that can be walked piecemeal while it changes.
///
/// Why not a standard one: SCAN needs a cursor that survives inserts, erases and resizes, and still
/// meets every key that was there all along. Buckets are a power of two, and the cursor counts them
/// with its bits reversed (as Redis does): a bucket's keys move, on a resize, only to buckets whose
/// low bits are the same, which the reversed count visits next to each other. So a key may be met
/// twice after a resize, never missed.
///
/// Nodes never move, so others may point to them. They are also linked in order of insertion: a
/// small Redis hash answers HGETALL in that order, and walking all is independent of the buckets.
///
/// A resize is done at once, not step by step: every key is visited, under the engine's mutex, once
/// per doubling. With millions of keys that is a pause of many milliseconds.
namespace holdfast::memory {

template <class Value>
class dict {
public:
    struct node {
        node* chain = nullptr;
        node* before = nullptr;
        node* after = nullptr;
        std::uint64_t hash = 0;
        std::string key;
        [[no_unique_address]] Value value;

        node(std::string_view text, Value&& v) : key(text), value(std::move(v)) {}
    };

    explicit dict(std::uint64_t seed) : seed_(seed) {}
    dict(const dict&) = delete;
    dict& operator=(const dict&) = delete;
    ~dict() { clear(); }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

    /// The oldest node; follow `after` for the rest. Null when empty.
    [[nodiscard]] node* first() const noexcept { return first_; }
    [[nodiscard]] node* last() const noexcept { return last_; }

    /// Makes the node the newest: what is used so is in the order of last use.
    void move_to_end(node& n) noexcept {
        if (&n == last_) return;
        unlink(n);
        append(n);
    }

    [[nodiscard]] node* find(std::string_view key) const noexcept {
        if (size_ == 0) return nullptr;
        return find(key, hash_bytes(key, seed_));
    }

    /// Requires: the key is not there.
    node& insert(std::string_view key, Value value) {
        return insert(key, hash_bytes(key, seed_), std::move(value));
    }

    /// The node of this key, made with a default value if it is not there; and whether it was made.
    std::pair<node*, bool> find_or_insert(std::string_view key) {
        const std::uint64_t hash = hash_bytes(key, seed_);
        if (node* found = size_ == 0 ? nullptr : find(key, hash)) return {found, false};
        return {&insert(key, hash, Value{}), true};
    }

    void erase(node& n) noexcept {
        node** link = &buckets_[n.hash & mask()];
        while (*link != &n) link = &(*link)->chain;
        *link = n.chain;
        unlink(n);
        delete &n;
        --size_;
        if (buckets_.size() > smallest && size_ * 8 < buckets_.size()) {
            // Shrinking is a courtesy: without the memory for it, the large table goes on.
            try {
                resize(buckets_.size() / 4);
            } catch (const std::bad_alloc&) {
            }
        }
    }

    void clear() noexcept {
        for (node* n = first_; n != nullptr;) delete std::exchange(n, n->after);
        first_ = last_ = nullptr;
        size_ = 0;
        buckets_ = {};
    }

    /// A node chosen by chance: a bucket, then one of its chain. Requires: not empty.
    [[nodiscard]] node& random(entropy& chance) const {
        detail::require(size_ > 0, "not empty");
        node* head = nullptr;
        while (head == nullptr) head = buckets_[chance.below(buckets_.size())];
        std::size_t length = 0;
        for (node* n = head; n != nullptr; n = n->chain) ++length;
        for (std::uint64_t skip = chance.below(length); skip > 0; --skip) head = head->chain;
        return *head;
    }

    /// Calls visit(node&) for the buckets at `cursor` until `at_least` nodes were met or the table
    /// ends; answers the next cursor, 0 at the end. `visit` must not change the table.
    template <class Visit>
    [[nodiscard]] std::uint64_t scan(std::uint64_t cursor, std::size_t at_least,
                                     Visit visit) const {
        if (size_ == 0) return 0;
        // Empty buckets count too, ten to one, so that a sparse table cannot make a call endless.
        std::size_t patience = at_least > SIZE_MAX / 10 ? SIZE_MAX : at_least * 10;
        std::size_t met = 0;
        do {
            for (node* n = buckets_[cursor & mask()]; n != nullptr; n = n->chain) {
                visit(*n);
                ++met;
            }
            cursor |= ~mask();
            cursor = reverse(reverse(cursor) + 1);
        } while (cursor != 0 && met < at_least && --patience > 0);
        return cursor;
    }

private:
    static constexpr std::size_t smallest = 4;

    [[nodiscard]] std::uint64_t mask() const noexcept { return buckets_.size() - 1; }

    [[nodiscard]] static std::uint64_t reverse(std::uint64_t v) noexcept {
        v = __builtin_bswap64(v);
        v = ((v >> 4U) & 0x0F0F0F0F0F0F0F0FU) | ((v & 0x0F0F0F0F0F0F0F0FU) << 4U);
        v = ((v >> 2U) & 0x3333333333333333U) | ((v & 0x3333333333333333U) << 2U);
        return ((v >> 1U) & 0x5555555555555555U) | ((v & 0x5555555555555555U) << 1U);
    }

    [[nodiscard]] node* find(std::string_view key, std::uint64_t hash) const noexcept {
        node* n = buckets_[hash & mask()];
        while (n != nullptr && (n->hash != hash || n->key != key)) n = n->chain;
        return n;
    }

    node& insert(std::string_view key, std::uint64_t hash, Value&& value) {
        if (size_ >= buckets_.size()) resize(buckets_.empty() ? smallest : buckets_.size() * 2);
        node* n = new node(key, std::move(value));
        n->hash = hash;
        node*& head = buckets_[hash & mask()];
        n->chain = head;
        head = n;
        append(*n);
        ++size_;
        return *n;
    }

    void append(node& n) noexcept {
        n.before = last_;
        n.after = nullptr;
        (last_ != nullptr ? last_->after : first_) = &n;
        last_ = &n;
    }

    void unlink(node& n) noexcept {
        (n.before != nullptr ? n.before->after : first_) = n.after;
        (n.after != nullptr ? n.after->before : last_) = n.before;
    }

    void resize(std::size_t count) {
        std::vector<node*> fresh(count, nullptr);
        buckets_.swap(fresh);
        for (node* n = first_; n != nullptr; n = n->after) {
            node*& head = buckets_[n->hash & mask()];
            n->chain = head;
            head = n;
        }
    }

    std::uint64_t seed_;
    std::vector<node*> buckets_;
    node* first_ = nullptr;
    node* last_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace holdfast::memory
