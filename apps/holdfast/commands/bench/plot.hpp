// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/bench/figure.hpp"

#include <holdfast/error.hpp>

#include <string>
#include <vector>

/// Figures as a picture: for each a bar for its rate and one for its reference, to the same scale.
namespace holdfast::app {

[[nodiscard]] std::string to_svg(const std::vector<figure>& figures);

/// Could the file be written? Leaves everything as it is.
/// Errors: invalid_argument; the detail says why not.
[[nodiscard]] result<void> can_draw(const std::string& file);

/// Errors: unavailable, if the file cannot be written; the detail says why.
[[nodiscard]] result<void> draw(const std::vector<figure>& figures, const std::string& file);

}  // namespace holdfast::app
