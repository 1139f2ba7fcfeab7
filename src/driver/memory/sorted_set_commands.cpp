// SPDX-License-Identifier: Apache-2.0
//
// Sorted sets: members in and out, scores and ranks. Ranges are in sorted_set_range_commands.cpp.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace holdfast::memory {
namespace {

struct add_options {
    bool nx = false;
    bool xx = false;
    bool gt = false;
    bool lt = false;
    bool count_changes = false;
    bool increment = false;
    std::size_t pairs_at = 2;
};

add_options parse_add_options(const call& c, add_options o) {
    for (; o.pairs_at < c.count(); ++o.pairs_at) {
        const std::size_t i = o.pairs_at;
        if (c.is(i, "nx")) {
            o.nx = true;
        } else if (c.is(i, "xx")) {
            o.xx = true;
        } else if (c.is(i, "gt")) {
            o.gt = true;
        } else if (c.is(i, "lt")) {
            o.lt = true;
        } else if (c.is(i, "ch")) {
            o.count_changes = true;
        } else if (c.is(i, "incr")) {
            o.increment = true;
        } else {
            break;
        }
    }
    const std::size_t words = c.count() - o.pairs_at;
    if (words == 0 || words % 2 != 0) refuse_syntax();
    if (o.nx && o.xx) refuse("ERR XX and NX options at the same time are not compatible");
    if ((o.gt && o.nx) || (o.lt && o.nx) || (o.gt && o.lt)) {
        refuse("ERR GT, LT, and/or NX options at the same time are not compatible");
    }
    if (o.increment && words > 2) {
        refuse("ERR INCR option supports a single increment-element pair");
    }
    return o;
}

struct add_outcome {
    bool refused = false;
    bool added = false;
    bool updated = false;
    double score = 0;
};

add_outcome add_one(sorted_set& z, std::string_view member, double score, const add_options& o) {
    sorted_set::entry* e = z.find(member);
    if (e == nullptr) {
        if (o.xx) return {.refused = true};
        z.insert(member, score);
        return {.added = true, .score = score};
    }
    if (o.nx) return {.refused = true};
    if (o.increment) {
        score += e->value;
        if (std::isnan(score)) refuse("ERR resulting score is not a number (NaN)");
    }
    if ((o.lt && score >= e->value) || (o.gt && score <= e->value)) return {.refused = true};
    const bool differs = score != e->value;
    z.set_score(*e, score);
    return {.updated = differs, .score = score};
}

void add_pairs(call& c, const add_options& o) {
    std::vector<double> scores;
    for (std::size_t i = o.pairs_at; i < c.count(); i += 2) scores.push_back(c.number(i));
    if (c.look<sorted_set>(c.arg(1)) == nullptr && o.xx) {
        return o.increment ? c.out.nil() : c.out.integer(0);
    }
    auto& z = c.make<sorted_set>(c.arg(1));
    std::int64_t added = 0;
    std::int64_t updated = 0;
    add_outcome last;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        last = add_one(z, c.arg(o.pairs_at + 2 * i + 1), scores[i], o);
        added += last.added ? 1 : 0;
        updated += last.updated ? 1 : 0;
    }
    if (added + updated > 0) c.db.modified(c.arg(1));
    if (!o.increment) return c.out.integer(o.count_changes ? added + updated : added);
    last.refused ? c.out.nil() : c.out.number(last.score);
}

void zadd(call& c) {
    add_pairs(c, parse_add_options(c, {}));
}
void zincrby(call& c) {
    add_pairs(c, parse_add_options(c, {.increment = true}));  // Redis reads its options here too
}

void zrem(call& c) {
    auto* z = c.look<sorted_set>(c.arg(1));
    if (z == nullptr) return c.out.integer(0);
    std::int64_t removed = 0;
    for (std::size_t i = 2; i < c.count(); ++i) {
        auto* e = z->find(c.arg(i));
        if (e == nullptr) continue;
        z->erase(*e);
        ++removed;
    }
    if (removed > 0) c.changed(c.arg(1), *z);
    c.out.integer(removed);
}

void answer_score(const call& c, const sorted_set* z, std::string_view member) {
    const auto* e = z == nullptr ? nullptr : z->find(member);
    e == nullptr ? c.out.nil() : c.out.number(e->value);
}

void zscore(call& c) {
    answer_score(c, c.look<sorted_set>(c.arg(1)), c.arg(2));
}

void zmscore(call& c) {
    const auto* z = c.look<sorted_set>(c.arg(1));
    c.out.array(c.count() - 2);
    for (std::size_t i = 2; i < c.count(); ++i) answer_score(c, z, c.arg(i));
}

void zcard(call& c) {
    const auto* z = c.look<sorted_set>(c.arg(1));
    c.out.integer(z == nullptr ? 0 : static_cast<std::int64_t>(z->size()));
}

template <bool Reverse>
void rank(call& c) {
    const auto* z = c.look<sorted_set>(c.arg(1));
    const auto* e = z == nullptr ? nullptr : z->find(c.arg(2));
    if (e == nullptr) return c.out.nil();
    const std::size_t at = z->rank(*e);
    c.out.integer(static_cast<std::int64_t>(Reverse ? z->size() - 1 - at : at));
}

template <bool Highest>
void pop(call& c) {
    if (c.count() > 3) refuse_syntax();
    const auto wanted = c.count() == 3 ? static_cast<std::size_t>(c.positive(2)) : 1;
    auto* z = c.look<sorted_set>(c.arg(1));
    if (z == nullptr || wanted == 0) return c.out.array(0);
    const std::size_t take = std::min(wanted, z->size());
    const bool nested = c.count() == 3 && c.out.nests_pairs();
    c.out.array(nested ? take : take * 2);
    for (std::size_t i = 0; i < take; ++i) {
        auto& e = z->at(Highest ? z->size() - 1 : 0);
        if (nested) c.out.array(2);
        c.out.string(e.key);
        c.out.number(e.value);
        z->erase(e);
    }
    c.changed(c.arg(1), *z);
}

constexpr command_spec sorted_set_table[] = {
    {"zadd", -4, writes | grows | fast_path, zadd},
    {"zincrby", 4, writes | grows | fast_path, zincrby},
    {"zrem", -3, writes | fast_path, zrem},
    {"zscore", 3, reads | fast_path, zscore},
    {"zmscore", -3, reads | fast_path, zmscore},
    {"zcard", 2, reads | fast_path, zcard},
    {"zrank", 3, reads | fast_path, rank<false>},
    {"zrevrank", 3, reads | fast_path, rank<true>},
    {"zpopmin", -2, writes | fast_path, pop<false>},
    {"zpopmax", -2, writes | fast_path, pop<true>},
};

}  // namespace

std::span<const command_spec> sorted_set_commands() {
    return sorted_set_table;
}

}  // namespace holdfast::memory
