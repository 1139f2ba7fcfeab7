// SPDX-License-Identifier: Apache-2.0
//
// Hashes.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/engine_core.hpp"

#include <cmath>

namespace holdfast::memory {
namespace {

std::int64_t put_fields(call& c) {
    if (c.count() % 2 != 0) refuse_arity(c.spec->name);
    hash_value& h = c.make<hash_value>(c.arg(1));
    std::int64_t made = 0;
    for (std::size_t i = 2; i < c.count(); i += 2) {
        const auto [n, fresh] = h.find_or_insert(c.arg(i));
        n->value.assign(c.arg(i + 1));
        made += fresh ? 1 : 0;
    }
    c.db.modified(c.arg(1));
    return made;
}

void hset(call& c) {
    c.out.integer(put_fields(c));
}

void hmset(call& c) {
    put_fields(c);
    c.out.ok();
}

void hsetnx(call& c) {
    const hash_value* old = c.look<hash_value>(c.arg(1));
    if (old != nullptr && old->find(c.arg(2)) != nullptr) return c.out.integer(0);
    c.make<hash_value>(c.arg(1)).insert(c.arg(2), std::string(c.arg(3)));
    c.db.modified(c.arg(1));
    c.out.integer(1);
}

void answer_field(const call& c, const hash_value* h, std::string_view field) {
    const auto* n = h == nullptr ? nullptr : h->find(field);
    n == nullptr ? c.out.nil() : c.out.string(n->value);
}

void hget(call& c) {
    answer_field(c, c.look<hash_value>(c.arg(1)), c.arg(2));
}

void hmget(call& c) {
    const hash_value* h = c.look<hash_value>(c.arg(1));
    c.out.array(c.count() - 2);
    for (std::size_t i = 2; i < c.count(); ++i) answer_field(c, h, c.arg(i));
}

template <bool Keys, bool Values>
void answer_all(call& c) {
    const hash_value* h = c.look<hash_value>(c.arg(1));
    if (h == nullptr) return Keys && Values ? c.out.map(0) : c.out.array(0);
    Keys&& Values ? c.out.map(h->size()) : c.out.array(h->size());
    for (const auto* n = h->first(); n != nullptr; n = n->after) {
        if constexpr (Keys) c.out.string(n->key);
        if constexpr (Values) c.out.string(n->value);
    }
}

void hdel(call& c) {
    hash_value* h = c.look<hash_value>(c.arg(1));
    if (h == nullptr) return c.out.integer(0);
    std::int64_t removed = 0;
    for (std::size_t i = 2; i < c.count(); ++i) {
        auto* n = h->find(c.arg(i));
        if (n == nullptr) continue;
        h->erase(*n);
        ++removed;
    }
    if (removed > 0) c.changed(c.arg(1), *h);
    c.out.integer(removed);
}

void hexists(call& c) {
    const hash_value* h = c.look<hash_value>(c.arg(1));
    c.out.integer(h != nullptr && h->find(c.arg(2)) != nullptr ? 1 : 0);
}

void hlen(call& c) {
    const hash_value* h = c.look<hash_value>(c.arg(1));
    c.out.integer(h == nullptr ? 0 : static_cast<std::int64_t>(h->size()));
}

void hstrlen(call& c) {
    const hash_value* h = c.look<hash_value>(c.arg(1));
    const auto* n = h == nullptr ? nullptr : h->find(c.arg(2));
    c.out.integer(n == nullptr ? 0 : static_cast<std::int64_t>(n->value.size()));
}

void hincrby(call& c) {
    const std::int64_t step = c.integer(3);
    const hash_value* old = c.look<hash_value>(c.arg(1));
    const auto* field = old == nullptr ? nullptr : old->find(c.arg(2));
    std::int64_t value = 0;
    if (field != nullptr) {
        const auto parsed = parse_integer(field->value);
        if (!parsed) refuse("ERR hash value is not an integer");
        value = *parsed;
    }
    if (__builtin_add_overflow(value, step, &value)) {
        refuse("ERR increment or decrement would overflow");
    }
    number_text room;
    c.make<hash_value>(c.arg(1)).find_or_insert(c.arg(2)).first->value.assign(
        format_integer(value, room));
    c.db.modified(c.arg(1));
    c.out.integer(value);
}

void hincrbyfloat(call& c) {
    const auto step = parse_long_double(c.arg(3));
    if (!step) refuse("ERR value is not a valid float");
    if (std::isinf(*step)) refuse("ERR value is NaN or Infinity");
    const hash_value* old = c.look<hash_value>(c.arg(1));
    const auto* field = old == nullptr ? nullptr : old->find(c.arg(2));
    const auto value = field == nullptr ? 0.0L : parse_long_double(field->value);
    if (!value) refuse("ERR hash value is not a float");
    const long double sum = *value + *step;
    if (std::isnan(sum) || std::isinf(sum)) refuse("ERR increment would produce NaN or Infinity");
    const std::string text = format_long_double(sum);
    c.make<hash_value>(c.arg(1)).find_or_insert(c.arg(2)).first->value = text;
    c.db.modified(c.arg(1));
    c.out.string(text);
}

constexpr command_spec hash_table[] = {
    {"hset", -4, writes | grows | fast_path, hset},
    {"hmset", -4, writes | grows | fast_path, hmset},
    {"hsetnx", 4, writes | grows | fast_path, hsetnx},
    {"hget", 3, reads | fast_path, hget},
    {"hmget", -3, reads | fast_path, hmget},
    {"hgetall", 2, reads, answer_all<true, true>},
    {"hkeys", 2, reads, answer_all<true, false>},
    {"hvals", 2, reads, answer_all<false, true>},
    {"hdel", -3, writes | fast_path, hdel},
    {"hexists", 3, reads | fast_path, hexists},
    {"hlen", 2, reads | fast_path, hlen},
    {"hstrlen", 3, reads | fast_path, hstrlen},
    {"hincrby", 4, writes | grows | fast_path, hincrby},
    {"hincrbyfloat", 4, writes | grows | fast_path, hincrbyfloat},
};

}  // namespace

std::span<const command_spec> hash_commands() {
    return hash_table;
}

}  // namespace holdfast::memory
