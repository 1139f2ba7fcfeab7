// SPDX-License-Identifier: Apache-2.0
//
// Scripts are compared as everything else: reply and error text, with nothing normalised. Left out
// is what the language itself words differently from one Lua to the next: faults such as arithmetic
// on nil, and the texts of compile errors.
#include "differential/script_grammar.hpp"

#include "differential/command_grammar.hpp"

#include <fmt/format.h>
#include <holdfast/engine/command.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace holdfast::test {
namespace {

template <std::size_t N>
std::string_view one_of(value_pools& pools, const std::array<std::string_view, N>& list) {
    return list[pools.below(N)];
}

// Three-digit escapes: what follows may be a digit.
std::string literal(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte >= 0x7F || c == '\'' || c == '\\') {
            out += fmt::format("\\{:03d}", byte);
        } else {
            out += c;
        }
    }
    return out + "'";
}

constexpr std::array<std::string_view, 14> odd_arguments{
    "KEYS[1]", "KEYS[2]", "ARGV[1]", "ARGV[2]", "1",     "12.5", "0.1",
    "1e20",    "2^53",    "-7",      "1/3",     "#ARGV", "1e15", "100"};
constexpr std::array<std::string_view, 4> bad_arguments{"nil", "true", "{}", "{1,2}"};

std::string call(value_pools& pools, std::string_view function, bool& unordered) {
    word_vector args = draw_command(pools, place::script);
    // How ZSCAN writes a score depends on Redis's encoding; inside a script nobody can put it
    // right.
    while (command_name(args) == "ZSCAN") args = draw_command(pools, place::script);
    unordered = unordered || is_unordered(args);
    const bool delicate = is_delicate(args);
    std::string out = fmt::format("redis.{}(", function);
    for (std::size_t i = 0; i < args.size(); ++i) {
        if (i > 0) out += ", ";
        if (i > 0 && !delicate && pools.chance(15)) {
            out += one_of(pools, odd_arguments);
        } else if (i > 0 && !delicate && pools.chance(1)) {
            out += one_of(pools, bad_arguments);
        } else {
            out += literal(args[i]);
        }
    }
    return out + ")";
}

constexpr std::array<std::string_view, 48> values{
    "nil",
    "true",
    "false",
    "1",
    "-1",
    "3.99",
    "-3.99",
    "0.1",
    "2^53",
    "1e15",
    "-1e15",
    "2147483648",
    "''",
    "'text'",
    "'\\000\\255'",
    "{}",
    "{1,2,3}",
    "{1,nil,3}",
    "{1,{2,{3,'x'}},true,false}",
    "{1,2,foo='bar'}",
    "{ok='fine'}",
    "{ok='fine', 1, 2}",
    "{err='MYERR text'}",
    "{err='no code'}",
    "{{ok='a'},{err='B c'}}",
    "redis.error_reply('MY error')",
    "redis.error_reply('word')",
    "redis.error_reply('-MINUS sign')",
    "redis.error_reply('')",
    "redis.status_reply('PONG it')",
    "redis.status_reply('')",
    "tostring(1e15)",
    "tostring(1e14)",
    "tostring(0.1)",
    "tostring(-0.5)",
    "tostring(123456789012)",
    "tostring(nil)",
    "tostring(true)",
    "string.format('%.0f', 2^53)",
    "string.format('%d', 42)",
    "tonumber('10')",
    "tonumber('x')",
    "#KEYS",
    "#ARGV",
    "{KEYS[1], ARGV[1]}",
    "KEYS[3]",
    "redis.sha1hex('abc')",
    "{3.7, '3.7', -0.9}",
};

constexpr std::array<std::string_view, 22> faults{
    "return undefined_global",
    "undefined_global = 1",
    "error('plain words')",
    "error({err='CODE of table'})",
    "error({err='of table'})",
    "return redis.call()",
    "return redis.pcall()",
    "return redis.call('NOSUCH', 'x')",
    "return redis.pcall('NOSUCH')",
    "return redis.call('GET')",
    "return redis.pcall('GET', 'a', 'b')",
    "return redis.call('BLPOP', 'l1', 1)",
    "return redis.call('MULTI')",
    "return redis.call('WATCH', 'a')",
    "return redis.call('EVAL', 'return 1', 0)",
    "return redis.pcall('SUBSCRIBE', 'c')",
    "return redis.error_reply()",
    "return redis.error_reply(1)",
    "return redis.status_reply('a', 'b')",
    "return redis.sha1hex()",
    "local function f() error('deep') end f()",
    "return print",
};

std::string statement(value_pools& pools, bool& unordered) {
    switch (pools.below(4)) {
        case 0: return call(pools, "call", unordered) + " ";
        case 1: return call(pools, "pcall", unordered) + " ";
        case 2: return fmt::format("local n = redis.pcall('INCR', {}) ", literal(pools.draw("s")));
        default: {
            bool ignored = false;  // a condition sees truth, not order
            const std::string condition = call(pools, "pcall", ignored);
            return fmt::format("if {} then {} end ", condition, call(pools, "pcall", unordered));
        }
    }
}

std::string ending(value_pools& pools, bool& unordered) {
    switch (pools.below(8)) {
        case 0: return fmt::format("return {}", one_of(pools, values));
        case 1:
            return fmt::format("return {{{}, {}}}", one_of(pools, values), one_of(pools, values));
        case 2: return std::string(one_of(pools, faults));
        case 3:
            return fmt::format(
                "local r = {} if type(r) == 'table' and r.err then "
                "return {{'err', r.err}} end return {{type(r), r}}",
                call(pools, "pcall", unordered));
        case 4:
            return fmt::format("return {{{}, {}}}", call(pools, "pcall", unordered),
                               call(pools, "call", unordered));
        case 5: return fmt::format("return {}", call(pools, "pcall", unordered));
        case 6:
            return fmt::format(
                "local ok, e = pcall(function() return {} end) "
                "return {{tostring(ok), type(e)}}",
                call(pools, "call", unordered));
        default: return fmt::format("return {}", call(pools, "call", unordered));
    }
}

operation command_of(word_vector args, bool unordered = false) {
    operation step;
    step.args = std::move(args);
    step.unordered = unordered;
    return step;
}

}  // namespace

drawn_script draw_script(value_pools& pools) {
    drawn_script script;
    if (pools.chance(20)) {
        script.source = fmt::format("return {}", one_of(pools, values));
        return script;
    }
    for (auto n = pools.below(3); n > 0; --n) {
        script.source += statement(pools, script.unordered);
        if (pools.chance(20)) script.source += '\n';
    }
    script.source += ending(pools, script.unordered);
    return script;
}

std::vector<operation> draw_script_steps(value_pools& pools) {
    const drawn_script script = draw_script(pools);
    word_vector tail = expand_rule(pools, "2 <s> <h> [<val>] [<val>]");
    if (pools.chance(30)) tail = expand_rule(pools, "(0|1 <key>|0 <val>)");
    if (pools.chance(3)) tail = expand_rule(pools, "(-1|x|5 a|99|9223372036854775807)");
    // An argument may become a score, and whether Redis keeps the sign of -0 depends on its
    // encoding.
    std::ranges::replace(tail, std::string("-0"), std::string("-1"));
    const auto with = [&](std::string_view name, const std::string& what) {
        word_vector args{std::string(name), what};
        args.insert(args.end(), tail.begin(), tail.end());
        return args;
    };
    if (pools.chance(75)) return {command_of(with("EVAL", script.source), script.unordered)};
    const holdfast::script known(script.source);
    std::string sha = known.sha1();
    if (pools.chance(10)) {
        for (char& c : sha) c = c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    if (pools.chance(20)) return {command_of(with("EVALSHA", sha), script.unordered)};
    if (pools.chance(5)) return {command_of(with("EVALSHA", "short"))};
    return {command_of({"SCRIPT", "EXISTS", sha, "x"}),
            command_of({"SCRIPT", "LOAD", script.source}),
            command_of({"script", "exists", sha, "x", sha}),
            command_of(with("EVALSHA", sha), script.unordered)};
}

}  // namespace holdfast::test
