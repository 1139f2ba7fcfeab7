// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/lua_sink.hpp"

#include "driver/memory/lua_api.hpp"

#include <lua.hpp>

#include <algorithm>
#include <cstdlib>

namespace holdfast::memory {

void lua_sink::nil() {
    lua_pushboolean(state_, 0);
    placed();
}

void lua_sink::status(std::string_view text) {
    lua_createtable(state_, 0, 1);
    lua_pushlstring(state_, text.data(), text.size());
    lua_setfield(state_, -2, "ok");
    placed();
}

void lua_sink::error(std::string_view text) {
    push_error(state_, text);
    failed_ = depth_ == 0;
    placed();
}

void lua_sink::integer(std::int64_t number) {
    lua_pushnumber(state_, static_cast<lua_Number>(number));
    placed();
}

void lua_sink::string(std::string_view text) {
    lua_pushlstring(state_, text.data(), text.size());
    placed();
}

void lua_sink::array(std::size_t length) {
    constexpr std::size_t most = 4096;  // the rest grows as it comes
    if (depth_ == deepest) std::abort();
    luaL_checkstack(state_, 4, "answer is too deep");
    lua_createtable(state_, static_cast<int>(std::min(length, most)), 0);
    if (length == 0) return placed();
    open_[depth_++] = {length, 0};
}

// Puts the value on top into the innermost open array; a full array is itself such a value.
void lua_sink::place() {
    while (depth_ > 0) {
        frame& f = open_[depth_ - 1];
        lua_rawseti(state_, -2, static_cast<int>(++f.filled));
        if (f.filled < f.length) return;
        --depth_;
    }
}

}  // namespace holdfast::memory
