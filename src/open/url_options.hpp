// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/engine/url.hpp>
#include <holdfast/error.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

/// The options of an engine's URL, read one by one.
namespace holdfast::detail {

/// Takes an option out of the URL, if it is there.
std::optional<std::string> take_option(url& where, std::string_view name);

/// Takes the option `quarantine` out of the URL: off (zero), or a time of at most a day. `usual` if
/// it is not there.
/// Errors: invalid_argument.
result<duration> take_quarantine(url& where, duration usual);

/// What an option that makes no sense is answered with: what it takes.
std::unexpected<error> wrong_option(std::string_view option, std::string_view takes);

/// Errors: invalid_argument, naming the first option that is not in `known` and the nearest that
/// is.
result<void> only_options(const url& where, std::span<const std::string_view> known);

}  // namespace holdfast::detail
