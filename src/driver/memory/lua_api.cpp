// SPDX-License-Identifier: Apache-2.0
//
// The world of a script.
//
// Scripts see exactly the globals that Redis 7.0 gives them, less cjson, cmsgpack and struct. Lua's
// tables cannot be made read-only here (Redis patches its Lua for that), so `_G` and the libraries
// are empty tables that stand before the real ones: reading falls through, writing raises.
// Functions that could reach around them (rawset, setmetatable, load) are wrapped; those that could
// leave the sandbox are not there.
#include "driver/memory/lua_api.hpp"

#include "driver/memory/lua_host.hpp"
#include "driver/memory/sink.hpp"

#include <holdfast/engine/command.hpp>

#include <lua.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <string>

namespace holdfast::memory {
namespace {

constexpr const char* read_only_mark = "holdfast_read_only";

lua_host& host_of(lua_State* state) {
    return *static_cast<lua_host*>(lua_touserdata(state, lua_upvalueindex(1)));
}

// ---- protection

int on_unknown_global(lua_State* state) {
    return luaL_error(state, "Script attempted to access nonexistent global variable '%s'",
                      luaL_checkstring(state, 2));
}

int on_write(lua_State* state) {
    return luaL_error(state, "Attempt to modify a readonly table");
}

void refuse_read_only(lua_State* state) {
    if (!lua_istable(state, 1) || lua_getmetatable(state, 1) == 0) return;
    lua_getfield(state, -1, read_only_mark);
    if (lua_toboolean(state, -1) != 0) {
        lua_pushliteral(state, "Attempt to modify a readonly table");
        lua_error(state);
    }
    lua_pop(state, 2);
}

int raw_set(lua_State* state) {
    luaL_checktype(state, 1, LUA_TTABLE);
    luaL_checkany(state, 2);
    luaL_checkany(state, 3);
    refuse_read_only(state);
    lua_settop(state, 3);
    lua_rawset(state, 1);
    return 1;
}

int set_metatable(lua_State* state) {
    const int type = lua_type(state, 2);
    luaL_checktype(state, 1, LUA_TTABLE);
    luaL_argcheck(state, type == LUA_TNIL || type == LUA_TTABLE, 2, "nil or table expected");
    refuse_read_only(state);
    if (luaL_getmetafield(state, 1, "__metatable") != 0) {
        return luaL_error(state, "cannot change a protected metatable");
    }
    lua_settop(state, 2);
    lua_setmetatable(state, 1);
    return 1;
}

// Replaces the table on top by an empty one that stands before it.
void protect(lua_State* state) {
    lua_newtable(state);
    lua_createtable(state, 0, 4);
    lua_pushvalue(state, -3);
    lua_setfield(state, -2, "__index");
    lua_pushcfunction(state, on_write);
    lua_setfield(state, -2, "__newindex");
    lua_pushboolean(state, 0);
    lua_setfield(state, -2, "__metatable");
    lua_pushboolean(state, 1);
    lua_setfield(state, -2, read_only_mark);
    lua_setmetatable(state, -2);
    lua_remove(state, -2);
}

// ---- functions of Lua that Redis changes

// Makes of what was raised a table with the place where it was raised.
int on_error(lua_State* state) {
    lua_Debug where{};
    bool known = lua_getstack(state, 1, &where) != 0;
    if (known) lua_getinfo(state, "Sl", &where);
    if (known && std::strcmp(where.what, "C") == 0) {
        known = lua_getstack(state, 2, &where) != 0;
        if (known) lua_getinfo(state, "Sl", &where);
    }
    if (!lua_istable(state, 1)) {
        const char* text = lua_tostring(state, 1);
        if (lua_isboolean(state, 1)) text = lua_toboolean(state, 1) != 0 ? "true" : "false";
        const std::string message =
            std::string("ERR ") + (text != nullptr ? text : luaL_typename(state, 1));
        push_error(state, message);
        lua_replace(state, 1);
    }
    if (known) {
        lua_pushstring(state, where.source);
        lua_setfield(state, 1, "source");
        lua_pushinteger(state, where.currentline);
        lua_setfield(state, 1, "line");
    }
    lua_settop(state, 1);
    return 1;
}

// As Redis's: the error of a command is given to scripts as its text.
int protected_call(lua_State* state) {
    luaL_checkany(state, 1);
    const int count = lua_gettop(state);
    const int status = lua_pcall(state, count - 1, LUA_MULTRET, 0);
    if (status != 0 && host_of(state).stopped()) return lua_error(state);
    if (status != 0 && lua_istable(state, -1)) {
        lua_getfield(state, -1, "err");
        if (lua_isstring(state, -1) != 0) {
            lua_replace(state, -2);
        } else {
            lua_pop(state, 1);
        }
    }
    lua_pushboolean(state, status == 0 ? 1 : 0);
    lua_insert(state, 1);
    return lua_gettop(state);
}

// load and loadstring: text only, never bytecode, which could do anything.
int load_text(lua_State* state) {
    std::string source;
    if (lua_isfunction(state, 1)) {
        while (true) {
            lua_pushvalue(state, 1);
            lua_call(state, 0, 1);
            std::size_t length = 0;
            const char* piece = lua_tolstring(state, -1, &length);
            if (piece == nullptr || length == 0) break;
            source.append(piece, length);
            lua_pop(state, 1);
        }
    } else {
        std::size_t length = 0;
        const char* text = luaL_checklstring(state, 1, &length);
        source.assign(text, length);
    }
    const char* name = luaL_optstring(state, 2, source.c_str());
    if (luaL_loadbufferx(state, source.data(), source.size(), name, "t") == 0) return 1;
    lua_pushnil(state);
    lua_insert(state, -2);
    return 2;
}

int collect_garbage(lua_State* state) {
    const std::string_view what = luaL_optstring(state, 1, "collect");
    if (what == "count") {
        lua_pushnumber(state, lua_gc(state, LUA_GCCOUNT, 0));
    } else {
        lua_pushinteger(state, what == "collect" ? lua_gc(state, LUA_GCCOLLECT, 0) : 0);
    }
    return 1;
}

// The numbers that Redis gives: drand48, so that a script that seeds it finds the same.
int random_number(lua_State* state) {
    constexpr std::int32_t most = INT32_MAX;
    const double r = static_cast<double>(host_of(state).next_random() % most) / most;
    const int count = lua_gettop(state);
    if (count == 0) {
        lua_pushnumber(state, r);
        return 1;
    }
    if (count > 2) return luaL_error(state, "wrong number of arguments");
    const int low = count == 1 ? 1 : luaL_checkint(state, 1);
    const int high = luaL_checkint(state, count);
    luaL_argcheck(state, low <= high, count, "interval is empty");
    lua_pushnumber(state, std::floor(r * (static_cast<double>(high) - low + 1)) + low);
    return 1;
}

int seed_random(lua_State* state) {
    host_of(state).seed_random(luaL_checkint(state, 1));
    return 0;
}

// ---- redis.*

int redis_call(lua_State* state) {
    return host_of(state).call_command(state, true);
}
int redis_pcall(lua_State* state) {
    return host_of(state).call_command(state, false);
}

int raise_error(lua_State* state, std::string_view text) {
    push_error(state, text);
    return lua_error(state);
}

int error_reply(lua_State* state) {
    if (lua_gettop(state) != 1 || lua_type(state, 1) != LUA_TSTRING) {
        push_error(state, "ERR wrong number or type of arguments");
        return 1;
    }
    std::size_t length = 0;
    const char* given = lua_tolstring(state, 1, &length);
    std::string_view text(given, length);
    if (text.starts_with('-')) text.remove_prefix(1);
    // A word alone is a message without a code.
    const bool coded = text.find(' ') != std::string_view::npos;
    lua_createtable(state, 0, 1);
    if (!coded) lua_pushliteral(state, "ERR ");
    lua_pushlstring(state, text.data(), text.size());
    if (!coded) lua_concat(state, 2);
    lua_setfield(state, -2, "err");
    return 1;
}

int status_reply(lua_State* state) {
    if (lua_gettop(state) != 1 || lua_type(state, 1) != LUA_TSTRING) {
        push_error(state, "ERR wrong number or type of arguments");
        return 1;
    }
    lua_createtable(state, 0, 1);
    lua_pushvalue(state, 1);
    lua_setfield(state, -2, "ok");
    return 1;
}

int sha1hex(lua_State* state) {
    if (lua_gettop(state) != 1) return raise_error(state, "ERR wrong number of arguments");
    std::size_t length = 0;
    const char* text = lua_tolstring(state, 1, &length);
    const std::string digest = script(std::string(text != nullptr ? text : "", length)).sha1();
    lua_pushlstring(state, digest.data(), digest.size());
    return 1;
}

int log_message(lua_State* state) {
    if (lua_gettop(state) < 2) {
        return raise_error(state, "ERR redis.log() requires two arguments or more.");
    }
    if (lua_isnumber(state, 1) == 0) {
        return raise_error(state, "ERR First argument must be a number (log level).");
    }
    const double level = lua_tonumber(state, 1);
    if (level < 0 || level > 3) return raise_error(state, "ERR Invalid debug level.");
    return 0;
}

int answer_true(lua_State* state) {
    lua_pushboolean(state, 1);
    return 1;
}

int answer_nothing(lua_State*) {
    return 0;
}

int answer_false(lua_State* state) {
    lua_pushboolean(state, 0);
    return 1;
}

int set_protocol(lua_State* state) {
    if (lua_gettop(state) != 1) {
        return raise_error(state, "ERR redis.setresp() requires one argument.");
    }
    if (lua_tonumber(state, 1) != 2) {
        return raise_error(state, "ERR RESP version must be 2: this engine speaks no other");
    }
    return 0;
}

// ---- opening

void set_function(lua_State* state, lua_host& host, const char* name, lua_CFunction function) {
    lua_pushlightuserdata(state, &host);
    lua_pushcclosure(state, function, 1);
    lua_setfield(state, -2, name);
}

void push_redis_library(lua_State* state, lua_host& host) {
    lua_newtable(state);
    const std::pair<const char*, lua_CFunction> functions[] = {
        {"call", redis_call},         {"pcall", redis_pcall},
        {"error_reply", error_reply}, {"status_reply", status_reply},
        {"sha1hex", sha1hex},         {"log", log_message},
        {"setresp", set_protocol},    {"replicate_commands", answer_true},
        {"set_repl", answer_nothing}, {"breakpoint", answer_false},
        {"debug", answer_nothing},    {"acl_check_cmd", answer_true},
    };
    for (const auto& [name, function] : functions) set_function(state, host, name, function);
    const std::pair<const char*, int> numbers[] = {
        {"LOG_DEBUG", 0},  {"LOG_VERBOSE", 1},
        {"LOG_NOTICE", 2}, {"LOG_WARNING", 3},
        {"REPL_NONE", 0},  {"REPL_AOF", 1},
        {"REPL_SLAVE", 2}, {"REPL_REPLICA", 2},
        {"REPL_ALL", 3},   {"REDIS_VERSION_NUM", 0x0007000F},
    };
    for (const auto& [name, number] : numbers) {
        lua_pushinteger(state, number);
        lua_setfield(state, -2, name);
    }
    lua_pushliteral(state, "7.0.15");
    lua_setfield(state, -2, "REDIS_VERSION");
}

void open_library(lua_State* state, const char* name, lua_CFunction open) {
    lua_pushcfunction(state, open);
    lua_pushstring(state, name);
    lua_call(state, 1, 0);
}

// Copies the named globals of Lua into the table on top.
void copy_globals(lua_State* state) {
    constexpr const char* plain[] = {
        "_VERSION", "assert", "error",  "gcinfo",   "getmetatable", "ipairs", "next",   "pairs",
        "rawequal", "rawget", "select", "tonumber", "tostring",     "type",   "unpack", "xpcall"};
    for (const char* name : plain) {
        lua_getglobal(state, name);
        lua_setfield(state, -2, name);
    }
    for (const char* name : {"string", "table", "math", "bit", "coroutine"}) {
        lua_getglobal(state, name);
        protect(state);
        lua_setfield(state, -2, name);
    }
}

}  // namespace

void push_error(lua_State* state, std::string_view text) {
    lua_createtable(state, 0, 3);
    lua_pushlstring(state, text.data(), text.size());
    lua_setfield(state, -2, "err");
}

void open_sandbox(lua_State* state, lua_host& host) {
    open_library(state, "", luaopen_base);
    open_library(state, LUA_STRLIBNAME, luaopen_string);
    open_library(state, LUA_TABLIBNAME, luaopen_table);
    open_library(state, LUA_MATHLIBNAME, luaopen_math);
    open_library(state, LUA_BITLIBNAME, luaopen_bit);
    lua_settop(state, 0);
    lua_getglobal(state, "math");
    set_function(state, host, "random", random_number);
    set_function(state, host, "randomseed", seed_random);
    lua_settop(state, 0);

    lua_pushcfunction(state, on_error);
    lua_newtable(state);
    copy_globals(state);
    set_function(state, host, "rawset", raw_set);
    set_function(state, host, "setmetatable", set_metatable);
    set_function(state, host, "pcall", protected_call);
    set_function(state, host, "load", load_text);
    set_function(state, host, "loadstring", load_text);
    set_function(state, host, "collectgarbage", collect_garbage);
    push_redis_library(state, host);
    protect(state);
    lua_setfield(state, -2, "redis");

    // What is not in the table of globals raises.
    lua_createtable(state, 0, 1);
    lua_pushcfunction(state, on_unknown_global);
    lua_setfield(state, -2, "__index");
    lua_setmetatable(state, 2);

    // Methods of strings, by way of the protected library; the metatable itself out of reach.
    lua_pushliteral(state, "");
    lua_getmetatable(state, -1);
    lua_getfield(state, 2, "string");
    lua_setfield(state, -2, "__index");
    lua_pushboolean(state, 0);
    lua_setfield(state, -2, "__metatable");
    lua_settop(state, 2);

    // Every chunk compiled from now on has the protected table as its globals.
    lua_pushvalue(state, 2);
    protect(state);
    lua_pushvalue(state, -1);
    lua_setfield(state, 2, "_G");
    lua_replace(state, LUA_GLOBALSINDEX);

    lua_pushliteral(state, "KEYS");
    lua_pushliteral(state, "ARGV");
    lua_getfield(state, 2, "redis");
    lua_getmetatable(state, -1);
    lua_getfield(state, -1, "__index");
    lua_replace(state, -3);
    lua_pop(state, 1);
}

}  // namespace holdfast::memory
