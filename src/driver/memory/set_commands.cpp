// SPDX-License-Identifier: Apache-2.0
//
// Sets: members in and out.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/engine_core.hpp"

#include <algorithm>

namespace holdfast::memory {
namespace {

void sadd(call& c) {
    set_value& s = c.make<set_value>(c.arg(1));
    std::int64_t added = 0;
    for (std::size_t i = 2; i < c.count(); ++i) added += s.find_or_insert(c.arg(i)).second ? 1 : 0;
    if (added > 0) c.db.modified(c.arg(1));
    c.out.integer(added);
}

void srem(call& c) {
    set_value* s = c.look<set_value>(c.arg(1));
    if (s == nullptr) return c.out.integer(0);
    std::int64_t removed = 0;
    for (std::size_t i = 2; i < c.count(); ++i) {
        auto* n = s->find(c.arg(i));
        if (n == nullptr) continue;
        s->erase(*n);
        ++removed;
    }
    if (removed > 0) c.changed(c.arg(1), *s);
    c.out.integer(removed);
}

void sismember(call& c) {
    const set_value* s = c.look<set_value>(c.arg(1));
    c.out.integer(s != nullptr && s->find(c.arg(2)) != nullptr ? 1 : 0);
}

void smismember(call& c) {
    const set_value* s = c.look<set_value>(c.arg(1));
    c.out.array(c.count() - 2);
    for (std::size_t i = 2; i < c.count(); ++i) {
        c.out.integer(s != nullptr && s->find(c.arg(i)) != nullptr ? 1 : 0);
    }
}

void scard(call& c) {
    const set_value* s = c.look<set_value>(c.arg(1));
    c.out.integer(s == nullptr ? 0 : static_cast<std::int64_t>(s->size()));
}

void spop(call& c) {
    if (c.count() > 3) refuse_syntax();
    const bool many = c.count() == 3;
    const auto wanted = many ? static_cast<std::size_t>(c.positive(2)) : 1;
    set_value* s = c.look<set_value>(c.arg(1));
    if (s == nullptr) return many ? c.out.set(0) : c.out.nil();
    const std::size_t take = std::min(wanted, s->size());
    if (many) c.out.set(take);
    for (std::size_t i = 0; i < take; ++i) {
        auto& n = s->random(c.core.chance());
        c.out.string(n.key);
        s->erase(n);
    }
    if (take > 0) c.changed(c.arg(1), *s);
}

// A sample of `take` distinct members: each step picks one of those not yet picked.
std::vector<std::string_view> sample(const set_value& s, std::size_t take, entropy& chance) {
    std::vector<std::string_view> all;
    all.reserve(s.size());
    for (const auto* n = s.first(); n != nullptr; n = n->after) all.push_back(n->key);
    for (std::size_t i = 0; i < take; ++i) std::swap(all[i], all[i + chance.below(all.size() - i)]);
    all.resize(take);
    return all;
}

void srandmember(call& c) {
    if (c.count() > 3) refuse_syntax();
    const bool many = c.count() == 3;
    const std::int64_t wanted = many ? c.integer(2) : 1;
    if (wanted == INT64_MIN) {
        refuse(
            "ERR value is out of range, value must between -9223372036854775807 and "
            "9223372036854775807");
    }
    const set_value* s = c.look<set_value>(c.arg(1));
    if (s == nullptr) return many ? c.out.array(0) : c.out.nil();
    if (!many) return c.out.string(s->random(c.core.chance()).key);
    // Redis would try; here it is the caller's own process.
    constexpr std::int64_t most = 100'000'000;
    if (wanted < -most) refuse("ERR value is out of range");
    if (wanted < 0) {
        c.out.array(static_cast<std::size_t>(-wanted));
        for (std::int64_t i = 0; i < -wanted; ++i) c.out.string(s->random(c.core.chance()).key);
        return;
    }
    const auto picked =
        sample(*s, std::min(static_cast<std::size_t>(wanted), s->size()), c.core.chance());
    c.out.array(picked.size());
    for (const std::string_view member : picked) c.out.string(member);
}

void smove(call& c) {
    set_value* from = c.look<set_value>(c.arg(1));
    if (from == nullptr) return c.out.integer(0);
    const set_value* to = c.look<set_value>(c.arg(2));
    auto* n = from->find(c.arg(3));
    if (from == to) return c.out.integer(n == nullptr ? 0 : 1);
    if (n == nullptr) return c.out.integer(0);
    from->erase(*n);
    c.changed(c.arg(1), *from);
    if (c.make<set_value>(c.arg(2)).find_or_insert(c.arg(3)).second) c.db.modified(c.arg(2));
    c.out.integer(1);
}

constexpr command_spec set_table[] = {
    {"sadd", -3, writes | grows | fast_path, sadd},
    {"srem", -3, writes | fast_path, srem},
    {"sismember", 3, reads | fast_path, sismember},
    {"smismember", -3, reads | fast_path, smismember},
    {"scard", 2, reads | fast_path, scard},
    {"spop", -2, writes | fast_path, spop},
    {"srandmember", -2, reads, srandmember},
    {"smove", 4, writes | fast_path, smove},
};

}  // namespace

std::span<const command_spec> set_commands() {
    return set_table;
}

}  // namespace holdfast::memory
