// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/sorted_set.hpp"

#include "core/require.hpp"

#include <boost/multi_index/identity.hpp>
#include <boost/multi_index/ranked_index.hpp>
#include <boost/multi_index_container.hpp>

namespace holdfast::memory {
namespace {

struct lower_first {
    bool operator()(const sorted_set::entry* a, const sorted_set::entry* b) const noexcept {
        if (a->value != b->value) return a->value < b->value;
        return a->key < b->key;
    }
};

namespace mi = boost::multi_index;
using tree = mi::multi_index_container<
    sorted_set::entry*,
    mi::indexed_by<mi::ranked_unique<mi::identity<sorted_set::entry*>, lower_first>>>;

// Lets a predicate on entries stand as the key of a lower_bound.
struct by_predicate {
    bool operator()(const sorted_set::entry* e,
                    const std::function<bool(const sorted_set::entry&)>& before) const {
        return before(*e);
    }
    bool operator()(const std::function<bool(const sorted_set::entry&)>& before,
                    const sorted_set::entry* e) const {
        return !before(*e);
    }
};

}  // namespace

struct sorted_set::order {
    tree entries;
};

sorted_set::sorted_set(std::uint64_t seed) : members_(seed), order_(std::make_unique<order>()) {}
sorted_set::~sorted_set() = default;

void sorted_set::insert(std::string_view member, double score) {
    entry& e = members_.insert(member, score);
    order_->entries.insert(&e);
}

// The tree orders by what the node holds, so the node leaves the tree before its score changes.
void sorted_set::set_score(entry& e, double score) {
    if (e.value == score) return;
    order_->entries.erase(order_->entries.find(&e));
    e.value = score;
    order_->entries.insert(&e);
}

void sorted_set::erase(entry& e) noexcept {
    order_->entries.erase(order_->entries.find(&e));
    members_.erase(e);
}

std::size_t sorted_set::rank(const entry& e) const noexcept {
    return order_->entries.find_rank(const_cast<entry*>(&e));
}

std::size_t sorted_set::count_before(const std::function<bool(const entry&)>& before) const {
    return order_->entries.lower_bound_rank(before, by_predicate{});
}

sorted_set::entry& sorted_set::at(std::size_t rank) const noexcept {
    detail::require(rank < size(), "rank < size()");
    return **order_->entries.nth(rank);
}

void sorted_set::walk(std::size_t first, int step, std::size_t count,
                      const std::function<void(entry&)>& visit) const {
    detail::require(step == 1 || step == -1, "step is 1 or -1");
    if (count == 0) return;
    auto at = order_->entries.nth(first);
    while (true) {
        visit(**at);
        if (--count == 0) return;
        step > 0 ? ++at : --at;
    }
}

}  // namespace holdfast::memory
