// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lease_bounds.hpp"
#include "rate_text.hpp"

#include <holdfast/engine/span_text.hpp>

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

/// The kinds of option values that Holdfast's commands take, each with an error that says what
/// would be right.
namespace holdfast::app {

struct whole_range {
    int least;
    int most;
};

// Each takes the default that --help shows from what `target` holds.

CLI::Option* add_whole(CLI::App& to, const std::string& name, int& target, whole_range range,
                       const std::string& help);

/// The longest that parse_span() takes: a year.
inline constexpr duration longest_span = std::chrono::hours(24 * 365);

/// What a lease may last; the library refuses others.
using detail::longest_ttl;
using detail::shortest_ttl;

/// From `least` to `most`.
CLI::Option* add_span(CLI::App& to, const std::string& name, duration& target,
                      const std::string& help, duration least = duration::zero(),
                      duration most = longest_span);

/// One that may be left out.
CLI::Option* add_span(CLI::App& to, const std::string& name, std::optional<duration>& target,
                      const std::string& help, duration least = duration::zero(),
                      duration most = longest_span);

/// A time, or "forever".
CLI::Option* add_wait(CLI::App& to, const std::string& name, duration& target,
                      const std::string& help);

CLI::Option* add_rate(CLI::App& to, const std::string& name, std::optional<rate>& target,
                      const std::string& help);

CLI::Option* add_choice(CLI::App& to, const std::string& name, std::string& target,
                        std::vector<std::string> choices, const std::string& help);

/// The URL of an engine.
CLI::Option* add_text(CLI::App& to, const std::string& name, std::string& target,
                      const std::string& help);

}  // namespace holdfast::app
