// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command.hpp>
#include <holdfast/error.hpp>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

/// Which words of a command are keys, and so which slot of a Cluster it belongs to.
///
/// A small table of the shapes that commands have. A command that is not in it has its key as the
/// first argument, as most have; if that is wrong, the server says so (MOVED or CROSSSLOT).
namespace holdfast::redis {

/// The keys that it names, in order; one that it names twice is there twice.
[[nodiscard]] std::vector<std::string_view> key_words(const command& c);

/// Nothing for a command without keys.
/// Errors: invalid_argument (CROSSSLOT), if its keys are in different slots.
[[nodiscard]] result<std::optional<unsigned>> slot_of(const command& c);

/// The same for several commands that must stay together.
[[nodiscard]] result<std::optional<unsigned>> slot_of(std::span<const command> commands);

}  // namespace holdfast::redis
