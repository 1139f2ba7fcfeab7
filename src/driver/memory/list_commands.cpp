// SPDX-License-Identifier: Apache-2.0
//
// Lists: pushing, popping, looking and cutting. Moving between lists and waiting for one is in
// list_move_commands.cpp.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/engine_core.hpp"
#include "driver/memory/list_end.hpp"

#include <algorithm>
#include <optional>

namespace holdfast::memory {
namespace {

std::int64_t length_of(const list_value& l) {
    return static_cast<std::int64_t>(l.size());
}

template <list_end End, bool OnlyExisting>
void push(call& c) {
    key_node* n = c.db.find(c.arg(1));
    if (n == nullptr) {
        if (OnlyExisting) return c.out.integer(0);
        n = &c.db.insert(c.arg(1), std::make_unique<list_value>());
    }
    list_value& l = call::as<list_value>(*n);
    for (std::size_t i = 2; i < c.count(); ++i) push_end(l, End, std::string(c.arg(i)));
    c.db.modified(c.arg(1));
    c.core.key_may_be_ready(*n);
    c.out.integer(length_of(l));
}

template <list_end End>
void pop(call& c) {
    if (c.count() > 3) refuse_arity(c.spec->name);
    const bool many = c.count() == 3;
    const std::int64_t wanted = many ? c.positive(2) : 1;
    list_value* l = c.look<list_value>(c.arg(1));
    if (l == nullptr) return many ? c.out.nil_array() : c.out.nil();
    if (many && wanted == 0) return c.out.array(0);
    const std::int64_t take = std::min(wanted, length_of(*l));
    if (many) c.out.array(static_cast<std::size_t>(take));
    for (std::int64_t i = 0; i < take; ++i) c.out.string(pop_end(*l, End));
    c.changed(c.arg(1), *l);
}

void llen(call& c) {
    const list_value* l = c.look<list_value>(c.arg(1));
    c.out.integer(l == nullptr ? 0 : length_of(*l));
}

void lrange(call& c) {
    const std::int64_t start = c.integer(2);
    const std::int64_t stop = c.integer(3);
    const list_value* l = c.look<list_value>(c.arg(1));
    if (l == nullptr) return c.out.array(0);
    const index_range r = resolve_range(start, stop, l->size());
    c.out.array(r.count);
    for (std::size_t i = 0; i < r.count; ++i) c.out.string((*l)[r.first + i]);
}

// The element at a signed index, or null.
std::string* element(list_value& l, std::int64_t index) {
    if (index < 0) index += length_of(l);
    if (index < 0 || index >= length_of(l)) return nullptr;
    return &l[static_cast<std::size_t>(index)];
}

void lindex(call& c) {
    list_value* l = c.look<list_value>(c.arg(1));
    if (l == nullptr) return c.out.nil();
    const std::string* found = element(*l, c.integer(2));
    found == nullptr ? c.out.nil() : c.out.string(*found);
}

void lset(call& c) {
    list_value* l = c.look<list_value>(c.arg(1));
    if (l == nullptr) refuse("ERR no such key");
    std::string* found = element(*l, c.integer(2));
    if (found == nullptr) refuse("ERR index out of range");
    found->assign(c.arg(3));
    c.db.modified(c.arg(1));
    c.out.ok();
}

void lrem(call& c) {
    const std::int64_t count = c.integer(2);
    list_value* l = c.look<list_value>(c.arg(1));
    if (l == nullptr) return c.out.integer(0);
    const std::int64_t most = count == 0           ? INT64_MAX
                              : count == INT64_MIN ? INT64_MAX
                                                   : std::abs(count);
    std::int64_t removed = 0;
    const auto hit = [&](const std::string& s) {
        if (removed == most || s != c.arg(3)) return false;
        ++removed;
        return true;
    };
    if (count >= 0) {
        l->erase(std::remove_if(l->begin(), l->end(), hit), l->end());
    } else {
        const auto kept = std::remove_if(l->rbegin(), l->rend(), hit);
        l->erase(l->begin(), kept.base());
    }
    if (removed > 0) c.changed(c.arg(1), *l);
    c.out.integer(removed);
}

void ltrim(call& c) {
    const std::int64_t start = c.integer(2);
    const std::int64_t stop = c.integer(3);
    list_value* l = c.look<list_value>(c.arg(1));
    if (l == nullptr) return c.out.ok();
    const index_range r = resolve_range(start, stop, l->size());
    const auto at = [&](std::size_t i) { return l->begin() + static_cast<std::ptrdiff_t>(i); };
    l->erase(at(r.first + r.count), l->end());
    l->erase(l->begin(), at(r.first));
    c.changed(c.arg(1), *l);
    c.out.ok();
}

void linsert(call& c) {
    const bool after = c.is(2, "after");
    if (!after && !c.is(2, "before")) refuse_syntax();
    list_value* l = c.look<list_value>(c.arg(1));
    if (l == nullptr) return c.out.integer(0);
    auto found = std::find(l->begin(), l->end(), c.arg(3));
    if (found == l->end()) return c.out.integer(-1);
    l->insert(after ? found + 1 : found, std::string(c.arg(4)));
    c.db.modified(c.arg(1));
    c.out.integer(length_of(*l));
}

struct position_options {
    std::int64_t rank = 1;
    std::optional<std::int64_t> count;
    std::int64_t look_at = 0;  // 0: all
};

position_options parse_position_options(const call& c) {
    position_options o;
    for (std::size_t i = 3; i < c.count(); i += 2) {
        if (i + 1 == c.count()) refuse_syntax();
        if (c.is(i, "rank")) {
            o.rank = c.integer(i + 1);
            if (o.rank == 0) {
                refuse(
                    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the "
                    "second ... or use negative to start from the end of the list");
            }
        } else if (c.is(i, "count")) {
            o.count = c.integer(i + 1, "ERR COUNT can't be negative");
            if (*o.count < 0) refuse("ERR COUNT can't be negative");
        } else if (c.is(i, "maxlen")) {
            o.look_at = c.integer(i + 1, "ERR MAXLEN can't be negative");
            if (o.look_at < 0) refuse("ERR MAXLEN can't be negative");
        } else {
            refuse_syntax();
        }
    }
    return o;
}

void lpos(call& c) {
    const position_options o = parse_position_options(c);
    const list_value* l = c.look<list_value>(c.arg(1));
    if (l == nullptr) return o.count ? c.out.array(0) : c.out.nil();
    const bool back = o.rank < 0;
    // The lowest number has no opposite, and what Redis does with it is undefined in C: here it is
    // the first match from the end.
    std::int64_t skip = o.rank == INT64_MIN ? 1 : std::abs(o.rank);
    const std::int64_t want = o.count ? (*o.count == 0 ? INT64_MAX : *o.count) : 1;
    const std::int64_t steps = o.look_at == 0 ? length_of(*l) : std::min(o.look_at, length_of(*l));
    std::vector<std::int64_t> found;
    for (std::int64_t i = 0; i < steps && static_cast<std::int64_t>(found.size()) < want; ++i) {
        const std::int64_t at = back ? length_of(*l) - 1 - i : i;
        if ((*l)[static_cast<std::size_t>(at)] != c.arg(2)) continue;
        if (skip > 1) {
            --skip;
        } else {
            found.push_back(at);
        }
    }
    if (!o.count) return found.empty() ? c.out.nil() : c.out.integer(found.front());
    c.out.array(found.size());
    for (const std::int64_t at : found) c.out.integer(at);
}

constexpr command_spec list_table[] = {
    {"lpush", -3, writes | grows | fast_path, push<list_end::left, false>},
    {"rpush", -3, writes | grows | fast_path, push<list_end::right, false>},
    {"lpushx", -3, writes | grows | fast_path, push<list_end::left, true>},
    {"rpushx", -3, writes | grows | fast_path, push<list_end::right, true>},
    {"lpop", -2, writes | fast_path, pop<list_end::left>},
    {"rpop", -2, writes | fast_path, pop<list_end::right>},
    {"llen", 2, reads | fast_path, llen},
    {"lrange", 4, reads, lrange},
    {"lindex", 3, reads, lindex},
    {"lset", 4, writes | grows, lset},
    {"lrem", 4, writes, lrem},
    {"ltrim", 4, writes, ltrim},
    {"linsert", 5, writes | grows, linsert},
    {"lpos", -3, reads, lpos},
};

}  // namespace

std::span<const command_spec> list_commands() {
    return list_table;
}

}  // namespace holdfast::memory
