// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command.hpp>

#include <cstdint>
#include <string_view>

/// Which keys must be loaded before an embedded engine can carry out a command.
namespace holdfast::keyed {

enum class demand : std::uint8_t {
    named_keys,  ///< Those that redis::key_words() tells.
    all_keys,
    refused,  ///< It waits, walks over keys, or is about a server: an engine of keys has no such.
};

[[nodiscard]] demand demand_of(const command& c);

/// Whether it is that command, in capitals or not.
[[nodiscard]] bool is_word(const command& c, std::string_view upper);

}  // namespace holdfast::keyed
