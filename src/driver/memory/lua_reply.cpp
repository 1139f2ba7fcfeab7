// SPDX-License-Identifier: Apache-2.0
//
// A script's value as a reply, by Redis's rules: numbers lose their fraction, true is 1, false is
// nil, a table is an array up to its first nil, unless it has one of the fields err, ok, double,
// map, set, big_number: those are RESP3's kinds, which RESP2 carries as arrays and strings.
#include "driver/memory/lua_api.hpp"
#include "driver/memory/sink.hpp"

#include <lua.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace holdfast::memory {
namespace {

constexpr int deepest = 200;

std::string one_line(std::string_view text) {
    std::string line(text);
    std::ranges::replace(line, '\r', ' ');
    std::ranges::replace(line, '\n', ' ');
    return line;
}

// The C cast of Redis, without its undefined part: what does not fit is the lowest number.
std::int64_t truncate(double number) {
    constexpr double limit = 9223372036854775808.0;
    if (!(number > -limit && number < limit)) return INT64_MIN;
    return static_cast<std::int64_t>(number);
}

std::string_view string_at(lua_State* state, int index) {
    std::size_t length = 0;
    const char* text = lua_tolstring(state, index, &length);
    return {text, length};
}

// Pushes the raw field; answers whether it has this type, and pops it if not.
bool has_field(lua_State* state, std::string_view name, int type) {
    lua_pushlstring(state, name.data(), name.size());
    lua_rawget(state, -2);
    if (lua_type(state, -1) == type) return true;
    lua_pop(state, 1);
    return false;
}

void answer(lua_State* state, sink& out, int depth);

// The keys of the table on top, and their values if `pairs`.
void answer_keys(lua_State* state, sink& out, int depth, bool pairs) {
    std::size_t count = 0;
    for (lua_pushnil(state); lua_next(state, -2) != 0; lua_pop(state, 1)) ++count;
    pairs ? out.map(count) : out.set(count);
    for (lua_pushnil(state); lua_next(state, -2) != 0; lua_pop(state, 1)) {
        lua_pushvalue(state, -2);
        answer(state, out, depth + 1);
        lua_pop(state, 1);
        if (pairs) answer(state, out, depth + 1);
    }
}

// A table that stands for another kind of value. False: it is an array.
bool answer_special(lua_State* state, sink& out, int depth) {
    if (has_field(state, "err", LUA_TSTRING)) {
        out.error(one_line(string_at(state, -1)));
    } else if (has_field(state, "ok", LUA_TSTRING)) {
        out.status(one_line(string_at(state, -1)));
    } else if (has_field(state, "double", LUA_TNUMBER)) {
        out.number(lua_tonumber(state, -1));
    } else if (has_field(state, "map", LUA_TTABLE)) {
        answer_keys(state, out, depth, true);
    } else if (has_field(state, "set", LUA_TTABLE)) {
        answer_keys(state, out, depth, false);
    } else if (has_field(state, "big_number", LUA_TSTRING)) {
        out.string(one_line(string_at(state, -1)));
    } else {
        return false;
    }
    lua_pop(state, 1);
    return true;
}

void answer_table(lua_State* state, sink& out, int depth) {
    if (depth > deepest || lua_checkstack(state, 8) == 0) {
        return out.error("ERR reached lua stack limit");
    }
    if (answer_special(state, out, depth)) return;
    int length = 0;
    for (bool more = true; more;) {
        lua_rawgeti(state, -1, length + 1);
        more = !lua_isnil(state, -1);
        lua_pop(state, 1);
        length += more ? 1 : 0;
    }
    out.array(static_cast<std::size_t>(length));
    for (int i = 1; i <= length; ++i) {
        lua_rawgeti(state, -1, i);
        answer(state, out, depth + 1);
        lua_pop(state, 1);
    }
}

void answer(lua_State* state, sink& out, int depth) {
    switch (lua_type(state, -1)) {
        case LUA_TSTRING: return out.string(string_at(state, -1));
        case LUA_TNUMBER: return out.integer(truncate(lua_tonumber(state, -1)));
        case LUA_TBOOLEAN: return lua_toboolean(state, -1) != 0 ? out.integer(1) : out.nil();
        case LUA_TTABLE: return answer_table(state, out, depth);
        default: return out.nil();
    }
}

}  // namespace

void answer_lua_value(lua_State* state, sink& out) {
    answer(state, out, 0);
}

}  // namespace holdfast::memory
