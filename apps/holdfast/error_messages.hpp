// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// An engine's trouble as one sentence for a person: what is wrong, and what to do about it.
///
/// The detail of an error from a Redis server is for whoever searches a fault: which command, to
/// which server, in which phase, after what time, with how much under way. A person at a terminal
/// wants to know first whether the server is away, the password wrong or the address another
/// program's. Of a file, the detail ends with SQLite's own words. It follows with --verbose.
namespace holdfast::app {

/// What is no such detail is answered as it is. Pure.
[[nodiscard]] std::string plain_words(std::string_view detail);

/// The same for doctor, which cannot send people to itself: with the server's own words.
[[nodiscard]] std::string doctors_words(std::string_view detail);

}  // namespace holdfast::app
