// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// A script's text, before it is compiled.
namespace holdfast::memory {

/// How a script gets redis, KEYS and ARGV.
///
/// They are globals, and those lie behind a table that refuses writes: each use is a detour of two
/// tables. A script that uses them only in plain ways cannot tell globals from locals, so it gets
/// them as arguments of its chunk, named by `take_world` in front of its text. Plain means
/// `redis.name(…)`, `KEYS[…]`, `#KEYS`, `f(KEYS)`, and the same for ARGV, without `...`, `_G`,
/// `load` and `loadstring` anywhere. `redis` is then the library itself and not what stands before
/// it: in that form a script can neither write to it nor hand it on.
struct script_world {
    bool as_locals = false;
    bool keys = false;  ///< It names KEYS.
    bool args = false;  ///< It names ARGV.
};

inline constexpr const char* take_world = "local redis,KEYS,ARGV=...;";

struct script_text {
    std::string lua;  ///< Without `take_world`.
    script_world world;
    bool read_only = false;  ///< "#!lua flags=no-writes"
};

/// Reads the shebang, and readies the rest for LuaJIT. Refuses a shebang that Redis refuses.
[[nodiscard]] script_text read_script(std::string_view source);

}  // namespace holdfast::memory
