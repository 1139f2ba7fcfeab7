// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/value_size.hpp"

#include "core/overloaded.hpp"
#include "driver/memory/keyspace.hpp"

namespace holdfast::memory {
namespace {

// What the allocator adds to a block, and what a string holds without one.
constexpr std::size_t block = 16;
constexpr std::size_t inside_string = 15;
// Of a ranked tree or a red-black one: three pointers, a colour, and the pointer to the element.
constexpr std::size_t tree_node = 64;
constexpr std::size_t looked_at = 4;

std::size_t text_bytes(std::size_t length) noexcept {
    return length > inside_string ? length + block : 0;
}

template <class Node, class Measure>
std::size_t dict_bytes(const dict<Node>& d, Measure measure) {
    std::size_t seen = 0;
    std::size_t sum = 0;
    for (auto* n = d.first(); n != nullptr && seen < looked_at; n = n->after, ++seen) {
        sum += text_bytes(n->key.size()) + measure(n->value);
    }
    for (auto* n = d.last(); n != nullptr && seen < 2 * looked_at; n = n->before, ++seen) {
        sum += text_bytes(n->key.size()) + measure(n->value);
    }
    const std::size_t each = sizeof(typename dict<Node>::node) + block + sizeof(void*);
    return d.size() * each + (seen == 0 ? 0 : sum * d.size() / seen);
}

std::size_t list_bytes(const list_value& l) {
    std::size_t seen = 0;
    std::size_t sum = 0;
    for (; seen < looked_at && seen < l.size(); ++seen) {
        sum += text_bytes(l[seen].size()) + text_bytes(l[l.size() - 1 - seen].size());
    }
    return l.size() * sizeof(std::string) + (seen == 0 ? 0 : sum * l.size() / (2 * seen));
}

std::size_t entry_bytes(const stream::fields& f) {
    std::size_t sum = f.size() * sizeof(std::string) + block;
    for (std::size_t i = 0; i < f.size() && i < 2 * looked_at; ++i) sum += text_bytes(f[i].size());
    return sum + tree_node + sizeof(stream_id) + sizeof(f);
}

std::size_t stream_bytes(const stream& s) {
    std::size_t pending = 0;
    for (const auto& [name, g] : s.groups()) {
        pending += g.pending.size() + g.consumers.size() + 1;
        if (pending > s.size() + looked_at) break;  // enough to see that it is large
    }
    std::size_t sum = pending * 4 * tree_node;
    if (s.size() == 0) return sum;
    const std::size_t ends =
        entry_bytes(s.entries().begin()->second) + entry_bytes(s.entries().rbegin()->second);
    return sum + s.size() * ends / 2;
}

}  // namespace

std::size_t estimated_bytes(std::string_view key, const value& v) {
    const auto none = [](const auto&) { return std::size_t{0}; };
    const std::size_t held = std::visit(
        detail::overloaded{
            [](const std::string& s) { return text_bytes(s.size()); },
            [](const std::unique_ptr<hash_value>& h) {
                return sizeof(*h) +
                       dict_bytes(*h, [](const std::string& s) { return text_bytes(s.size()); });
            },
            [](const std::unique_ptr<list_value>& l) { return sizeof(*l) + list_bytes(*l); },
            [&](const std::unique_ptr<set_value>& s) { return sizeof(*s) + dict_bytes(*s, none); },
            [&](const std::unique_ptr<sorted_set>& z) {
                return sizeof(*z) + dict_bytes(z->by_member(), none) + z->size() * tree_node;
            },
            [](const std::unique_ptr<stream>& s) { return sizeof(*s) + stream_bytes(*s); }},
        v);
    return sizeof(key_node) + block + sizeof(void*) + text_bytes(key.size()) + held;
}

}  // namespace holdfast::memory
