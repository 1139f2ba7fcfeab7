// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/lua_host.hpp"

#include "driver/memory/call.hpp"
#include "driver/memory/engine_core.hpp"
#include "driver/memory/lua_api.hpp"
#include "driver/memory/lua_sink.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace holdfast::memory {
namespace {

constexpr int handler_index = 1;
constexpr int globals_index = 2;
constexpr int keys_name_index = 3;
constexpr int args_name_index = 4;
constexpr int library_index = 5;
constexpr int base_top = 5;

constexpr int steps_per_check = 10'000;
constexpr std::uint64_t steps_per_command = 100;

lua_host* registered_host(lua_State* state) {
    lua_getfield(state, LUA_REGISTRYINDEX, "holdfast");
    auto* host = static_cast<lua_host*>(lua_touserdata(state, -1));
    lua_pop(state, 1);
    return host;
}

}  // namespace

lua_host::lua_host(engine_core& core, const memory_options& options)
    : core_(core),
      memory_(options.script_memory),
      most_steps_(options.script_steps),
      state_(lua_newstate(lua_memory::allocate, &memory_)),
      scripts_(0) {
    if (state_ == nullptr) throw std::bad_alloc();
    luaJIT_setmode(state_, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
    lua_pushlightuserdata(state_, this);
    lua_setfield(state_, LUA_REGISTRYINDEX, "holdfast");
    open_sandbox(state_, *this);
    count_steps();
}

lua_host::~lua_host() {
    lua_close(state_);
}

lua_host::known_script* lua_host::find(std::string_view sha) const {
    // Mostly the script that ran last is asked for, twice: by who loads it and by who runs it.
    if (known_script* last = scripts_.last(); last != nullptr && last->key == sha) return last;
    if (known_script* found = scripts_.find(sha)) return found;
    constexpr std::size_t digits = 40;
    if (sha.size() != digits) return nullptr;
    std::array<char, digits> lower;  // Redis takes upper case too; hardly anybody sends it
    std::ranges::transform(sha, lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    });
    return scripts_.find({lower.data(), lower.size()});
}

// Leaves the function on the stack, or the problem and answers false.
bool lua_host::compile(std::string_view text, const char* mode) {
    leave_room();
    memory_.bound(true);
    const int failure = luaL_loadbufferx(state_, text.data(), text.size(), "@user_script", mode);
    memory_.bound(false);
    return failure == 0;
}

// Compiles it into the function on the stack; refuses what is not Lua.
ready_script lua_host::make(std::string_view source, std::string sha) {
    script_text text = read_script(source);
    bool good = text.world.as_locals && compile(std::string(take_world) + text.lua, "t");
    if (!good) {  // or it has so many locals that ours do not fit
        text.world = {};
        lua_settop(state_, base_top);
        good = compile(text.lua, "t");
    }
    if (!good) {
        std::string problem =
            fmt::format("ERR Error compiling script (new function): {}", lua_tostring(state_, -1));
        lua_settop(state_, base_top);
        refuse(std::move(problem));
    }
    ready_script made{std::move(sha), {}, text.world, text.read_only};
    const auto append = [](lua_State*, const void* bytes, std::size_t size, void* to) {
        static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), size);
        return 0;
    };
    lua_dump(state_, append, &made.code);
    return made;
}

lua_host::known_script& lua_host::load(std::string_view source) {
    if (source.size() > longest_source) {
        refuse(fmt::format("ERR script has {} bytes, more than {}", source.size(), longest_source));
    }
    auto ready = ready_scripts::of_process().find(source);
    std::string sha = ready ? ready->sha1 : script(std::string(source)).sha1();
    if (known_script* known = find(sha)) return *known;
    if (!ready || !compile(ready->code, "b")) {
        lua_settop(state_, base_top);
        ready = ready_scripts::of_process().keep(source, make(source, std::move(sha)));
    }
    const int function = luaL_ref(state_, LUA_REGISTRYINDEX);
    while (scripts_.size() >= most_scripts || source_bytes_ + source.size() > most_source) {
        forget(*scripts_.first());
    }
    source_bytes_ += source.size();
    return scripts_.insert(ready->sha1, {function, source.size(), ready->read_only, ready->world});
}

void lua_host::forget(known_script& s) {
    luaL_unref(state_, LUA_REGISTRYINDEX, s.value.function);
    source_bytes_ -= s.value.source;
    scripts_.erase(s);
}

void lua_host::flush() {
    while (!scripts_.empty()) forget(*scripts_.first());
    lua_gc(state_, LUA_GCCOLLECT, 0);
}

namespace {

void push_words(lua_State* state, std::span<const std::string_view> words) {
    lua_createtable(state, static_cast<int>(words.size()), 0);
    int at = 0;
    for (const std::string_view word : words) {
        lua_pushlstring(state, word.data(), word.size());
        lua_rawseti(state, -2, ++at);
    }
}

}  // namespace

// LuaJIT does not collect when memory runs short, it fails: leave no garbage in the way.
void lua_host::leave_room() {
    if (memory_.used() > memory_.most() / 2) lua_gc(state_, LUA_GCCOLLECT, 0);
}

// Gives the script its keys and arguments; answers how many values it is called with.
int lua_host::push_world(const script_world& world, const invocation& how) {
    if (world.as_locals) {
        lua_pushvalue(state_, library_index);
        world.keys ? push_words(state_, how.keys) : lua_pushnil(state_);
        world.args ? push_words(state_, how.args) : lua_pushnil(state_);
        return 3;
    }
    lua_pushvalue(state_, keys_name_index);
    push_words(state_, how.keys);
    lua_rawset(state_, globals_index);
    lua_pushvalue(state_, args_name_index);
    push_words(state_, how.args);
    lua_rawset(state_, globals_index);
    return 0;
}

void lua_host::run(call& c, known_script& s, const invocation& how) {
    scripts_.move_to_end(s);
    current_ = {.from = &c.from, .read_only = how.read_only || s.value.read_only};
    steps_ = 0;
    stopped_ = false;
    const bool nested = std::exchange(c.from.executing, true);
    lua_rawgeti(state_, LUA_REGISTRYINDEX, s.value.function);
    const int words = push_world(s.value.world, how);
    leave_room();
    memory_.bound(true);
    const int failure = lua_pcall(state_, words, 1, handler_index);
    memory_.bound(false);
    if (stopped_) count_steps();
    if (failure == 0) {
        answer_lua_value(state_, c.out);
    } else {
        answer_failure(c, s.key);
    }
    lua_settop(state_, base_top);
    c.from.executing = nested;
    current_ = {};
}

void lua_host::answer_failure(call& c, std::string_view sha) {
    std::string text = "ERR unknown error";
    if (lua_istable(state_, -1)) {
        lua_getfield(state_, -1, "err");
        if (lua_isstring(state_, -1)) text = lua_tostring(state_, -1);
        lua_getfield(state_, -2, "source");
        lua_getfield(state_, -3, "line");
        if (lua_isstring(state_, -2) && lua_isstring(state_, -1)) {
            text += fmt::format(" script: {}, on {}:{}.", sha, lua_tostring(state_, -2),
                                lua_tostring(state_, -1));
        }
    } else if (lua_isstring(state_, -1)) {
        text = fmt::format("ERR {}", lua_tostring(state_, -1));  // out of memory
    }
    for (char& ch : text) ch = ch == '\r' || ch == '\n' ? ' ' : ch;
    c.out.error(text);
}

void lua_host::count_steps() {
    const auto hook = [](lua_State* state, lua_Debug*) { on_count(state); };
    lua_sethook(state_, hook, LUA_MASKCOUNT, steps_per_check);
}

void lua_host::on_count(lua_State* state) {
    registered_host(state)->spend(state, steps_per_check);
}

// Raises once the steps are used up, and from then on at every step, so that a script that catches
// the error does not go on.
void lua_host::spend(lua_State* state, std::uint64_t steps) {
    steps_ += steps;
    if (steps_ <= most_steps_) return;
    stopped_ = true;
    lua_sethook(state, lua_gethook(state), LUA_MASKCOUNT, 1);
    luaL_error(state, "Script ran for more than %d million steps and was ended",
               static_cast<int>(most_steps_ / 1'000'000));
}

std::int32_t lua_host::next_random() noexcept {
    random_state_ = (random_state_ * 0x5DEECE66DU + 0xBU) & ((std::uint64_t{1} << 48U) - 1);
    return static_cast<std::int32_t>(random_state_ >> 17U);
}

void lua_host::seed_random(std::int32_t seed) noexcept {
    random_state_ = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(seed)) << 16U) | 0x330EU;
}

int lua_host::refuse_call(lua_State* state, bool raise, std::string_view text) {
    push_error(state, text);
    return raise ? lua_error(state) : 1;
}

int lua_host::call_command(lua_State* state, bool raise) {
    const int count = lua_gettop(state);
    if (current_.from == nullptr) {
        return refuse_call(state, raise, "ERR redis.call can only be called inside a script");
    }
    if (count == 0) {
        return refuse_call(state, raise,
                           "ERR Please specify at least one argument for this redis lib call");
    }
    spend(state, steps_per_command);
    words_.clear();
    if (digits_.size() < static_cast<std::size_t>(count)) {
        digits_.resize(static_cast<std::size_t>(count));
    }
    for (int i = 1; i <= count; ++i) {
        const int type = lua_type(state, i);
        if (type == LUA_TSTRING) {
            std::size_t length = 0;
            const char* text = lua_tolstring(state, i, &length);
            words_.emplace_back(text, length);
        } else if (type == LUA_TNUMBER) {
            words_.push_back(
                format_double(lua_tonumber(state, i), digits_[static_cast<std::size_t>(i - 1)]));
        } else {
            return refuse_call(state, raise,
                               "ERR Lua redis lib command arguments must be strings or integers");
        }
    }
    const command_spec* spec = core_.table().find(words_);
    std::string_view problem;
    if (spec == nullptr) {
        problem = "ERR Unknown Redis command called from script";
    } else if (!spec->takes(words_.size())) {
        problem = "ERR Wrong number of args calling Redis command from script";
    } else if ((spec->flags & no_script) != 0) {
        problem = "ERR This Redis command is not allowed from script";
    } else if (current_.read_only && (spec->flags & writes) != 0) {
        problem = "ERR Write commands are not allowed from read-only scripts.";
    }
    // A script that has begun to write is not stopped half-way.
    if (problem.empty() && core_.refuses_growth() && (spec->flags & grows) != 0 &&
        !current_.wrote) {
        problem = no_memory;
    }
    if (!problem.empty()) return refuse_call(state, raise, problem);
    if ((spec->flags & writes) != 0) current_.wrote = true;
    lua_sink out(state);
    core_.run(*spec, *current_.from, words_, out);
    return out.failed() && raise ? lua_error(state) : 1;
}

}  // namespace holdfast::memory
