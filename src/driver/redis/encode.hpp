// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

/// A command as Redis reads it: an array of bulk strings.
namespace holdfast::redis {

/// How many bytes append_command() will append.
[[nodiscard]] std::size_t encoded_size(std::span<const std::string_view> args) noexcept;

void append_command(std::string& out, std::span<const std::string_view> args);

}  // namespace holdfast::redis
