// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/tables/name_book.hpp"

#include <optional>
#include <string>
#include <string_view>

/// A note to a waiter of another process, as a database carries it: "number owner fence claim".
namespace holdfast::sql {

[[nodiscard]] std::string note_text(const note& one);

/// Nothing if it is none of ours.
[[nodiscard]] std::optional<note> parse_note(std::int64_t process, std::string_view text);

}  // namespace holdfast::sql
