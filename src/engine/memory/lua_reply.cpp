// SPDX-License-Identifier: Apache-2.0
//
// A script's value as a reply, by Redis's rules: numbers lose their fraction, true is 1, false is
// nil, a table is an array up to its first nil, unless it has one of the fields err, ok, double.
#include "engine/memory/lua_api.hpp"
#include "engine/memory/sink.hpp"

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

void answer_table(lua_State* state, sink& out, int depth) {
    if (depth > deepest || lua_checkstack(state, 4) == 0) {
        return out.error("ERR reached lua stack limit");
    }
    if (has_field(state, "err", LUA_TSTRING)) {
        out.error(one_line(string_at(state, -1)));
        return lua_pop(state, 1);
    }
    if (has_field(state, "ok", LUA_TSTRING)) {
        out.status(one_line(string_at(state, -1)));
        return lua_pop(state, 1);
    }
    if (has_field(state, "double", LUA_TNUMBER)) {
        out.number(lua_tonumber(state, -1));
        return lua_pop(state, 1);
    }
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
        case LUA_TSTRING:
            return out.string(string_at(state, -1));
        case LUA_TNUMBER:
            return out.integer(truncate(lua_tonumber(state, -1)));
        case LUA_TBOOLEAN:
            return lua_toboolean(state, -1) != 0 ? out.integer(1) : out.nil();
        case LUA_TTABLE:
            return answer_table(state, out, depth);
        default:
            return out.nil();
    }
}

}  // namespace

void answer_lua_value(lua_State* state, sink& out) {
    answer(state, out, 0);
}

}  // namespace holdfast::memory
