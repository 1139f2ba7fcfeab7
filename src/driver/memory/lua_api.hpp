// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

struct lua_State;

/// What a script finds in its world: Redis's selection of Lua's library, and `redis`.
namespace holdfast::memory {

class lua_host;
class sink;

/// Leaves on the stack: 1 the error handler, 2 the table of globals, 3 "KEYS", 4 "ARGV", 5 the
/// library `redis` itself, which scripts must not get hold of.
void open_sandbox(lua_State* state, lua_host& host);

/// Pushes {err = text}.
void push_error(lua_State* state, std::string_view text);

/// Answers the Lua value on top of the stack as Redis converts it.
void answer_lua_value(lua_State* state, sink& out);

}  // namespace holdfast::memory
