// SPDX-License-Identifier: Apache-2.0
//
// Sets together: SINTER, SUNION, SDIFF, and SMEMBERS as the intersection of one.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"

#include <algorithm>
#include <vector>

namespace holdfast::memory {
namespace {

std::vector<const set_value*> operands(const call& c) {
    std::vector<const set_value*> sets;
    for (std::size_t i = 1; i < c.count(); ++i) sets.push_back(c.look<set_value>(c.arg(i)));
    return sets;
}

bool holds(const set_value* s, std::string_view member) {
    return s != nullptr && s->find(member) != nullptr;
}

void answer(const call& c, const std::vector<std::string_view>& members) {
    c.out.set(members.size());
    for (const std::string_view member : members) c.out.string(member);
}

void sinter(call& c) {
    auto sets = operands(c);
    if (std::ranges::find(sets, nullptr) != sets.end()) return c.out.set(0);
    std::ranges::sort(sets, {}, &set_value::size);
    std::vector<std::string_view> common;
    for (const auto* n = sets.front()->first(); n != nullptr; n = n->after) {
        if (std::ranges::all_of(sets, [&](const set_value* s) { return holds(s, n->key); })) {
            common.push_back(n->key);
        }
    }
    answer(c, common);
}

void sunion(call& c) {
    set_value all(c.db.seed());
    for (const set_value* s : operands(c)) {
        for (const auto* n = s == nullptr ? nullptr : s->first(); n != nullptr; n = n->after) {
            all.find_or_insert(n->key);
        }
    }
    std::vector<std::string_view> members;
    for (const auto* n = all.first(); n != nullptr; n = n->after) members.push_back(n->key);
    answer(c, members);
}

void sdiff(call& c) {
    const auto sets = operands(c);
    std::vector<std::string_view> left;
    const set_value* s = sets.front();
    for (const auto* n = s == nullptr ? nullptr : s->first(); n != nullptr; n = n->after) {
        const auto elsewhere = [&](const set_value* other) { return holds(other, n->key); };
        if (std::none_of(sets.begin() + 1, sets.end(), elsewhere)) left.push_back(n->key);
    }
    answer(c, left);
}

constexpr command_spec set_algebra_table[] = {
    {"sinter", -2, reads, sinter},
    {"sunion", -2, reads, sunion},
    {"sdiff", -2, reads, sdiff},
    {"smembers", 2, reads, sinter},
};

}  // namespace

std::span<const command_spec> set_algebra_commands() {
    return set_algebra_table;
}

}  // namespace holdfast::memory
