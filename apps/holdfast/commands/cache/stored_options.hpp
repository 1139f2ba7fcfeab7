// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine_choice.hpp"
#include "option_types.hpp"

#include <CLI/CLI.hpp>

#include <string>

/// What the commands of the cache family share: the engine, a prefix, an output format.
namespace holdfast::app {

struct stored_options {
    engine_options engine;
    std::string prefix;
    std::string format = "text";

    [[nodiscard]] bool json() const { return format == "json"; }
};

inline constexpr duration stored_timeout = std::chrono::seconds(5);

/// Requires: `options.prefix` is the default.
inline void add_stored_options(CLI::App& to, stored_options& options) {
    to.add_option("--prefix", options.prefix, "What the program puts before its keys")
        ->type_name("TEXT")
        ->capture_default_str();
    add_choice(to, "--format", options.format, {"text", "json"}, "The output format");
    add_engine_options(to, options.engine);
}

}  // namespace holdfast::app
