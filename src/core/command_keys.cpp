// SPDX-License-Identifier: Apache-2.0
#include "core/command_keys.hpp"

#include "core/hash_slot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string>

namespace holdfast::redis {
namespace {

enum class shape : std::uint8_t {
    none,         ///< No key.
    first,        ///< The first argument.
    second,       ///< The second: OBJECT ENCODING key.
    first_two,    ///< RENAME from to.
    all,          ///< DEL a b c.
    pairs,        ///< MSET a 1 b 2.
    all_but_one,  ///< BLPOP a b timeout.
    from_second,  ///< BITOP AND to a b.
    counted,      ///< ZUNION 2 a b …: the count is the first argument,
    counted2,     ///< EVAL script 2 a b …: … or the second,
    to_counted,   ///< ZUNIONSTORE to 2 a b …: … after a key.
    streams       ///< XREAD … STREAMS a b 0 0.
};

struct row {
    std::string_view name;
    shape form;
};

constexpr auto sorted_rows = [] {
    auto table = std::to_array<row>({
        {"ACL", shape::none},
        {"ASKING", shape::none},
        {"AUTH", shape::none},
        {"BITOP", shape::from_second},
        {"BLMOVE", shape::first_two},
        {"BLMPOP", shape::counted2},
        {"BLPOP", shape::all_but_one},
        {"BRPOP", shape::all_but_one},
        {"BRPOPLPUSH", shape::first_two},
        {"BZMPOP", shape::counted2},
        {"BZPOPMAX", shape::all_but_one},
        {"BZPOPMIN", shape::all_but_one},
        {"CLIENT", shape::none},
        {"CLUSTER", shape::none},
        {"COMMAND", shape::none},
        {"CONFIG", shape::none},
        {"COPY", shape::first_two},
        {"DBSIZE", shape::none},
        {"DEL", shape::all},
        {"DISCARD", shape::none},
        {"ECHO", shape::none},
        {"EVAL", shape::counted2},
        {"EVALSHA", shape::counted2},
        {"EVALSHA_RO", shape::counted2},
        {"EVAL_RO", shape::counted2},
        {"EXEC", shape::none},
        {"EXISTS", shape::all},
        {"FCALL", shape::counted2},
        {"FCALL_RO", shape::counted2},
        {"FLUSHALL", shape::none},
        {"FLUSHDB", shape::none},
        {"FUNCTION", shape::none},
        {"HELLO", shape::none},
        {"INFO", shape::none},
        {"KEYS", shape::none},
        {"LASTSAVE", shape::none},
        {"LATENCY", shape::none},
        {"LCS", shape::first_two},
        {"LMOVE", shape::first_two},
        {"LMPOP", shape::counted},
        {"MEMORY", shape::second},
        {"MGET", shape::all},
        {"MSET", shape::pairs},
        {"MSETNX", shape::pairs},
        {"MULTI", shape::none},
        {"OBJECT", shape::second},
        {"PFCOUNT", shape::all},
        {"PFMERGE", shape::all},
        {"PING", shape::none},
        {"PUBLISH", shape::none},
        {"PUBSUB", shape::none},
        {"RANDOMKEY", shape::none},
        {"RENAME", shape::first_two},
        {"RENAMENX", shape::first_two},
        {"ROLE", shape::none},
        {"RPOPLPUSH", shape::first_two},
        {"SCAN", shape::none},
        {"SCRIPT", shape::none},
        {"SDIFF", shape::all},
        {"SDIFFSTORE", shape::all},
        {"SINTER", shape::all},
        {"SINTERCARD", shape::counted},
        {"SINTERSTORE", shape::all},
        {"SLOWLOG", shape::none},
        {"SMOVE", shape::first_two},
        {"SUNION", shape::all},
        {"SUNIONSTORE", shape::all},
        {"TIME", shape::none},
        {"TOUCH", shape::all},
        {"UNLINK", shape::all},
        {"UNWATCH", shape::none},
        {"WAIT", shape::none},
        {"WATCH", shape::all},
        {"XGROUP", shape::second},
        {"XINFO", shape::second},
        {"XREAD", shape::streams},
        {"XREADGROUP", shape::streams},
        {"ZDIFF", shape::counted},
        {"ZDIFFSTORE", shape::to_counted},
        {"ZINTER", shape::counted},
        {"ZINTERCARD", shape::counted},
        {"ZINTERSTORE", shape::to_counted},
        {"ZMPOP", shape::counted},
        {"ZRANGESTORE", shape::first_two},
        {"ZUNION", shape::counted},
        {"ZUNIONSTORE", shape::to_counted},
    });
    std::ranges::sort(table, {}, &row::name);
    return table;
}();

bool equal_words(std::string_view a, std::string_view upper) {
    return std::ranges::equal(
        a, upper, [](unsigned char x, unsigned char y) { return std::toupper(x) == y; });
}

shape shape_of(std::string_view name) {
    std::array<char, 16> upper{};
    if (name.size() > upper.size()) return shape::first;
    std::ranges::transform(name, upper.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const std::string_view word(upper.data(), name.size());
    const auto found = std::ranges::lower_bound(sorted_rows, word, {}, &row::name);
    return found != sorted_rows.end() && found->name == word ? found->form : shape::first;
}

// Where the keys are: [begin, end) in steps, and perhaps one more.
struct range {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t step = 1;
    std::size_t extra = 0;
};

range counted_from(std::span<const std::string_view> args, std::size_t at) {
    std::size_t count = 0;
    if (at >= args.size()) return {};
    std::from_chars(args[at].data(), args[at].data() + args[at].size(), count);
    const std::size_t room = args.size() - at - 1;
    return {at + 1, at + 1 + std::min(count, room)};
}

range stream_names(std::span<const std::string_view> args) {
    for (std::size_t i = 1; i < args.size(); ++i) {
        if (!equal_words(args[i], "STREAMS")) continue;
        return {i + 1, i + 1 + (args.size() - i - 1) / 2};
    }
    return {};
}

range keys_of(std::span<const std::string_view> args) {
    const std::size_t n = args.size();
    switch (shape_of(args[0])) {
        case shape::none: return {};
        case shape::first: return {1, std::min<std::size_t>(n, 2)};
        case shape::second: return {2, std::min<std::size_t>(n, 3)};
        case shape::first_two: return {1, std::min<std::size_t>(n, 3)};
        case shape::all: return {1, n};
        case shape::pairs: return {1, n, 2};
        case shape::all_but_one: return {1, n - 1};
        case shape::from_second: return {2, n};
        case shape::counted: return counted_from(args, 1);
        case shape::counted2: return counted_from(args, 2);
        case shape::to_counted: {
            range r = counted_from(args, 2);
            r.extra = 1;
            return r;
        }
        case shape::streams: return stream_names(args);
    }
    return {};
}

}  // namespace

std::vector<std::string_view> key_words(const command& c) {
    std::vector<std::string_view> keys;
    if (c.args.empty()) return keys;
    const range where = keys_of(c.args);
    if (where.extra != 0 && where.extra < c.args.size()) keys.push_back(c.args[where.extra]);
    for (std::size_t i = where.begin; i < std::min(where.end, c.args.size()); i += where.step) {
        keys.push_back(c.args[i]);
    }
    return keys;
}

result<std::optional<unsigned>> slot_of(const command& c) {
    return slot_of({&c, 1});
}

result<std::optional<unsigned>> slot_of(std::span<const command> commands) {
    std::optional<unsigned> slot;
    for (const command& c : commands) {
        const range keys = keys_of(c.args);
        const auto add = [&](std::size_t i) {
            if (i >= c.args.size()) return true;
            const unsigned here = hash_slot(c.args[i]);
            const bool fits = !slot || *slot == here;
            slot = here;
            return fits;
        };
        bool fits = keys.extra == 0 || add(keys.extra);
        for (std::size_t i = keys.begin; fits && i < keys.end; i += keys.step) fits = add(i);
        if (fits) continue;
        return fail(errc::invalid_argument,
                    fmt::format("CROSSSLOT {}: its keys are in different slots of the cluster; a "
                                "common {{tag}} in their names puts them together",
                                c.args[0]));
    }
    return slot;
}

}  // namespace holdfast::redis
