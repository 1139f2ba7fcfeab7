// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "doctor/finding.hpp"

#include <holdfast/client.hpp>
#include <holdfast/url.hpp>

#include <string>

/// What the doctor looks at; each is a file of its own. They read, and the trial takes and gives
/// back a lease of its own; nothing else is changed.
namespace holdfast::app {

/// Does a lease work here at all: acquire, list, release? A user with too few permissions fails
/// here.
[[nodiscard]] findings try_a_lease(client& on, const std::string& where);

/// The engine's time of day against ours.
[[nodiscard]] findings compare_clocks(client& on, const std::string& where);

/// Each Redis server behind the URL.
[[nodiscard]] findings examine_redis(const url& where);

/// The file of sqlite:, its directory and its file system.
[[nodiscard]] findings examine_file(const url& where);

}  // namespace holdfast::app
