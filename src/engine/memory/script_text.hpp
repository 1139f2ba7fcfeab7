// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// A script's text, before it is compiled.
namespace holdfast::memory {

struct script_text {
    std::string lua;
    bool read_only = false;  ///< "#!lua flags=no-writes"
};

/// Reads the shebang, and readies the rest for LuaJIT. Refuses a shebang that Redis refuses.
[[nodiscard]] script_text read_script(std::string_view source);

}  // namespace holdfast::memory
