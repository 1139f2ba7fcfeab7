// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/dict.hpp"
#include "driver/memory/lua_memory.hpp"
#include "driver/memory/numbers.hpp"
#include "driver/memory/ready_scripts.hpp"
#include "driver/memory/script_text.hpp"

#include <holdfast/engine/command.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct lua_State;

/// Scripts: compiled once, run in a sandbox, bounded in steps and in memory.
///
/// One LuaJIT state for the engine, with the compiler to machine code off: only the interpreter
/// counts steps, and a script that calls commands spends its time in the commands anyway.
///
/// The scripts that are known are bounded too: `most_scripts`, and `most_source` bytes of text. The
/// one whose last use is longest ago is forgotten for a new one. An EVALSHA of it then says
/// NOSCRIPT, as after SCRIPT FLUSH or a restart of Redis, and callers load it again. A single
/// script has at most `longest_source` bytes: that bounds what compiling it takes.
///
/// Limits: a single call of a library function (string.rep, a pattern) is one step, as in Redis;
/// the bound on memory holds for those.
///
/// Requires: the engine's mutex is held.
namespace holdfast {
struct memory_options;
}

namespace holdfast::memory {

class engine_core;
struct call;
struct connection;

class lua_host {
public:
    lua_host(engine_core& core, const memory_options& options);
    ~lua_host();
    lua_host(const lua_host&) = delete;
    lua_host& operator=(const lua_host&) = delete;

    static constexpr std::size_t most_scripts = 10'000;
    static constexpr std::size_t most_source = std::size_t{16} * 1024 * 1024;
    static constexpr std::size_t longest_source = std::size_t{1024} * 1024;

    struct entry {
        int function = 0;        ///< In the registry.
        std::size_t source = 0;  ///< Bytes of its text.
        bool read_only = false;  ///< The shebang says no-writes.
        script_world world;      ///< How it gets redis, KEYS and ARGV.
    };
    using known_script = dict<entry>::node;

    /// The script with this SHA-1, in whatever case its digits are; null: there is none.
    [[nodiscard]] known_script* find(std::string_view sha) const;

    /// Compiles a script, unless it is known already. Refuses what is not Lua and what is too long.
    known_script& load(std::string_view source);

    /// Runs it with the call's keys and arguments, and answers what it answers.
    struct invocation {
        std::span<const std::string_view> keys;
        std::span<const std::string_view> args;
        bool read_only;
    };
    void run(call& c, known_script& s, const invocation& how);

    void flush();
    [[nodiscard]] std::size_t memory_used() const noexcept { return memory_.used(); }

    // For the functions that scripts call; see lua_api.cpp.

    /// redis.call and redis.pcall: the words are on the stack; leaves the answer on it.
    int call_command(lua_State* state, bool raise);
    [[nodiscard]] bool stopped() const noexcept { return stopped_; }
    [[nodiscard]] std::int32_t next_random() noexcept;
    void seed_random(std::int32_t seed) noexcept;

private:
    static void on_count(lua_State* state);
    void spend(lua_State* state, std::uint64_t steps);
    void count_steps();
    int refuse_call(lua_State* state, bool raise, std::string_view text);
    void answer_failure(call& c, std::string_view sha);
    bool compile(std::string_view text, const char* mode);
    ready_script make(std::string_view source, std::string sha);
    void forget(known_script& s);
    void leave_room();
    int push_world(const script_world& world, const invocation& how);

    struct script_run {
        connection* from = nullptr;
        bool read_only = false;
        bool wrote = false;
    };

    engine_core& core_;
    lua_memory memory_;
    const std::uint64_t most_steps_;
    lua_State* state_;
    dict<entry> scripts_;  // in the order of last use
    std::size_t source_bytes_ = 0;
    script_run current_;
    std::uint64_t steps_ = 0;
    std::uint64_t random_state_ = 0x1234ABCD330EU;  // where drand48 starts
    bool stopped_ = false;
    std::vector<std::string_view> words_;
    std::vector<number_text> digits_;  // of the words that are numbers
};

}  // namespace holdfast::memory
