// SPDX-License-Identifier: Apache-2.0
//
// Strings: SET and its relatives, counters, and parts of strings.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/expiry_time.hpp"

#include <cmath>
#include <optional>

namespace holdfast::memory {
namespace {

struct set_options {
    bool if_absent = false;
    bool if_present = false;
    bool answer_old = false;
    bool keep_ttl = false;
    std::optional<expiry_argument> expiry;
};

// One unit only; the same one may come again, and then the last number counts, as in Redis.
bool may_follow(expiry_unit unit, const std::optional<expiry_argument>& before) {
    return !before || before->unit == unit;
}

set_options parse_set_options(const call& c) {
    set_options o;
    for (std::size_t i = 3; i < c.count(); ++i) {
        const bool more = i + 1 < c.count();
        if (c.is(i, "nx") && !o.if_present) {
            o.if_absent = true;
        } else if (c.is(i, "xx") && !o.if_absent) {
            o.if_present = true;
        } else if (c.is(i, "get")) {
            o.answer_old = true;
        } else if (c.is(i, "keepttl") && !o.expiry) {
            o.keep_ttl = true;
        } else if (const auto unit = expiry_unit_of(c.arg(i));
                   unit && more && may_follow(*unit, o.expiry) && !o.keep_ttl) {
            o.expiry = expiry_argument{*unit, ++i};
        } else {
            refuse_syntax();
        }
    }
    return o;
}

// Stores a string, whatever was there. Keeps the buffer of a string that was there.
key_node& store(const call& c, key_node* n, std::string_view key, std::string_view text) {
    if (n == nullptr) return c.db.insert(key, std::string(text));
    if (auto* held = get_if<std::string>(n->value.data)) {
        held->assign(text);
    } else {
        n->value.data = std::string(text);
    }
    return *n;
}

void answer(const call& c, const std::string* text) {
    text == nullptr ? c.out.nil() : c.out.string(*text);
}

void set(call& c) {
    const set_options o = c.count() == 3 ? set_options{} : parse_set_options(c);
    const std::int64_t when = o.expiry ? expiry_time(c, *o.expiry) : no_expiry;
    key_node* n = c.db.find(c.arg(1));
    const bool refused = (o.if_absent && n != nullptr) || (o.if_present && n == nullptr);
    if (o.answer_old) {
        answer(c, n == nullptr ? nullptr : &call::as<std::string>(*n));
    } else if (refused) {
        c.out.nil();
    }
    if (refused) return;
    key_node& stored = store(c, n, c.arg(1), c.arg(2));
    if (o.expiry) {
        c.db.set_expiry(stored, when);
    } else if (!o.keep_ttl && n != nullptr) {
        c.db.drop_expiry(stored);
    }
    c.db.modified(c.arg(1));
    if (!o.answer_old) c.out.ok();
}

void set_if_absent(call& c) {
    if (c.db.find(c.arg(1)) != nullptr) return c.out.integer(0);
    c.db.insert(c.arg(1), std::string(c.arg(2)));
    c.db.modified(c.arg(1));
    c.out.integer(1);
}

void set_expiring(call& c, expiry_unit unit) {
    const std::int64_t when = expiry_time(c, {unit, 2});
    c.db.set_expiry(store(c, c.db.find(c.arg(1)), c.arg(1), c.arg(3)), when);
    c.db.modified(c.arg(1));
    c.out.ok();
}

void setex(call& c) {
    set_expiring(c, expiry_unit::seconds);
}
void psetex(call& c) {
    set_expiring(c, expiry_unit::milliseconds);
}

void get(call& c) {
    answer(c, c.look<std::string>(c.arg(1)));
}

void getdel(call& c) {
    key_node* n = c.db.find(c.arg(1));
    if (n == nullptr) return c.out.nil();
    c.out.string(call::as<std::string>(*n));
    c.db.erase(*n);
    c.db.modified(c.arg(1));
}

void getex(call& c) {
    std::optional<expiry_argument> expiry;
    bool persist = false;
    for (std::size_t i = 2; i < c.count(); ++i) {
        if (c.is(i, "persist") && !expiry) {
            persist = true;
        } else if (const auto unit = expiry_unit_of(c.arg(i));
                   unit && i + 1 < c.count() && may_follow(*unit, expiry) && !persist) {
            expiry = expiry_argument{*unit, ++i};
        } else {
            refuse_syntax();
        }
    }
    key_node* n = c.db.find(c.arg(1));
    if (n == nullptr) return c.out.nil();
    const std::string& text = call::as<std::string>(*n);
    const std::int64_t when = expiry ? expiry_time(c, *expiry) : no_expiry;
    c.out.string(text);
    if (expiry) {
        if (when <= c.db.now_ms()) {
            c.db.erase(*n);
        } else {
            c.db.set_expiry(*n, when);
        }
        c.db.modified(c.arg(1));
    } else if (persist && n->value.expires_ms != no_expiry) {
        c.db.drop_expiry(*n);
        c.db.modified(c.arg(1));
    }
}

void getset(call& c) {
    key_node* n = c.db.find(c.arg(1));
    answer(c, n == nullptr ? nullptr : &call::as<std::string>(*n));
    c.db.drop_expiry(store(c, n, c.arg(1), c.arg(2)));
    c.db.modified(c.arg(1));
}

void mget(call& c) {
    c.out.array(c.count() - 1);
    for (std::size_t i = 1; i < c.count(); ++i) {
        key_node* n = c.db.find(c.arg(i));
        answer(c, n == nullptr ? nullptr : get_if<std::string>(n->value.data));
    }
}

void store_pairs(call& c) {
    for (std::size_t i = 1; i + 1 < c.count(); i += 2) {
        c.db.drop_expiry(store(c, c.db.find(c.arg(i)), c.arg(i), c.arg(i + 1)));
        c.db.modified(c.arg(i));
    }
}

void mset(call& c) {
    if (c.count() % 2 == 0) refuse_arity("mset");
    store_pairs(c);
    c.out.ok();
}

void msetnx(call& c) {
    if (c.count() % 2 == 0) refuse_arity("msetnx");
    for (std::size_t i = 1; i < c.count(); i += 2) {
        if (c.db.find(c.arg(i)) != nullptr) return c.out.integer(0);
    }
    store_pairs(c);
    c.out.integer(1);
}

void check_length(std::size_t a, std::size_t b) {
    if (b > longest_string || a > longest_string - b) {
        refuse("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    }
}

void append(call& c) {
    const std::string* old = c.look<std::string>(c.arg(1));
    check_length(old == nullptr ? 0 : old->size(), c.arg(2).size());
    std::string& text = c.make<std::string>(c.arg(1));
    text += c.arg(2);
    c.db.modified(c.arg(1));
    c.out.integer(static_cast<std::int64_t>(text.size()));
}

void strlen(call& c) {
    const std::string* text = c.look<std::string>(c.arg(1));
    c.out.integer(text == nullptr ? 0 : static_cast<std::int64_t>(text->size()));
}

void add(call& c, std::int64_t step) {
    key_node* n = c.db.find(c.arg(1));
    std::int64_t value = 0;
    if (n != nullptr) {
        const auto parsed = parse_integer(call::as<std::string>(*n));
        if (!parsed) refuse("ERR value is not an integer or out of range");
        value = *parsed;
    }
    if (__builtin_add_overflow(value, step, &value)) {
        refuse("ERR increment or decrement would overflow");
    }
    number_text room;
    store(c, n, c.arg(1), format_integer(value, room));
    c.db.modified(c.arg(1));
    c.out.integer(value);
}

void incr(call& c) {
    add(c, 1);
}
void decr(call& c) {
    add(c, -1);
}
void incrby(call& c) {
    add(c, c.integer(2));
}

void decrby(call& c) {
    const std::int64_t step = c.integer(2);
    if (step == INT64_MIN) refuse("ERR decrement would overflow");
    add(c, -step);
}

void incrbyfloat(call& c) {
    key_node* n = c.db.find(c.arg(1));
    const auto old = n == nullptr ? 0.0L : parse_long_double(call::as<std::string>(*n));
    const auto step = parse_long_double(c.arg(2));
    if (!old || !step) refuse("ERR value is not a valid float");
    const long double sum = *old + *step;
    if (std::isnan(sum) || std::isinf(sum)) refuse("ERR increment would produce NaN or Infinity");
    const std::string text = format_long_double(sum);
    store(c, n, c.arg(1), text);
    c.db.modified(c.arg(1));
    c.out.string(text);
}

void setrange(call& c) {
    const std::int64_t offset = c.integer(2);
    if (offset < 0) refuse("ERR offset is out of range");
    const std::string* old = c.look<std::string>(c.arg(1));
    const std::string_view patch = c.arg(3);
    if (patch.empty()) {
        return c.out.integer(old == nullptr ? 0 : static_cast<std::int64_t>(old->size()));
    }
    const auto at = static_cast<std::size_t>(offset);
    check_length(at, patch.size());
    std::string& text = c.make<std::string>(c.arg(1));
    if (text.size() < at + patch.size()) text.resize(at + patch.size());
    text.replace(at, patch.size(), patch);
    c.db.modified(c.arg(1));
    c.out.integer(static_cast<std::int64_t>(text.size()));
}

void getrange(call& c) {
    const std::int64_t start = c.integer(2);
    const std::int64_t stop = c.integer(3);
    const std::string* text = c.look<std::string>(c.arg(1));
    if (text == nullptr || text->empty()) return c.out.string({});
    // Both ends before the string's start and in the wrong order: Redis answers nothing; otherwise
    // an end before the start means the start.
    if (start < 0 && stop < 0 && start > stop) return c.out.string({});
    const auto length = static_cast<std::int64_t>(text->size());
    const std::int64_t last = stop < 0 ? std::max<std::int64_t>(stop + length, 0) : stop;
    const index_range r = resolve_range(start, last, text->size());
    c.out.string(std::string_view(*text).substr(r.first, r.count));
}

constexpr command_spec string_table[] = {
    {"set", -3, writes | grows, set},
    {"setnx", 3, writes | grows | fast_path, set_if_absent},
    {"setex", 4, writes | grows, setex},
    {"psetex", 4, writes | grows, psetex},
    {"get", 2, reads | fast_path, get},
    {"getdel", 2, writes | fast_path, getdel},
    {"getex", -2, writes | fast_path, getex},
    {"getset", 3, writes | grows | fast_path, getset},
    {"mget", -2, reads, mget},
    {"mset", -3, writes | grows, mset},
    {"msetnx", -3, writes | grows, msetnx},
    {"append", 3, writes | grows | fast_path, append},
    {"strlen", 2, reads | fast_path, strlen},
    {"incr", 2, writes | grows | fast_path, incr},
    {"decr", 2, writes | grows | fast_path, decr},
    {"incrby", 3, writes | grows | fast_path, incrby},
    {"decrby", 3, writes | grows | fast_path, decrby},
    {"incrbyfloat", 3, writes | grows | fast_path, incrbyfloat},
    {"setrange", 4, writes | grows, setrange},
    {"getrange", 4, reads, getrange},
    {"substr", 4, reads, getrange},
};

}  // namespace

std::span<const command_spec> string_commands() {
    return string_table;
}

}  // namespace holdfast::memory
