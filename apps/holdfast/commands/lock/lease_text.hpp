// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/lease_info.hpp>

#include <string>

/// Who holds what, in words and in JSON.
namespace holdfast::app {

/// "report on web1 (1234)", or "unknown": another program's lock, or one that is too young.
[[nodiscard]] std::string show_who(const client_label& who);

/// All holders of a name in one short text: the first, and how many more there are.
[[nodiscard]] std::string show_holders(const lease_info& info);

/// What the first of them says of itself; empty if it says nothing.
[[nodiscard]] std::string show_note(const lease_info& info);

/// "exclusive", "shared", "2 of 5". For people; JSON has the numbers by themselves.
[[nodiscard]] std::string show_mode(const lease_mode& mode);

/// "27.1 s", or "no end".
[[nodiscard]] std::string show_left(const std::optional<duration>& remaining);

/// The same in a sentence: "27.1 s left", "without an end".
[[nodiscard]] std::string show_ending(const std::optional<duration>& remaining);

/// One object, on one line. A name that nobody holds has no mode.
[[nodiscard]] std::string to_json(const lease_info& info);

}  // namespace holdfast::app
