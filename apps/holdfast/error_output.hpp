// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exit_code.hpp"

#include <holdfast/error.hpp>

#include <string_view>

/// What the command line says on stderr when something is not as asked: one sentence. With
/// --verbose, a second line has the engine's own words. Whatever others have put into either, a
/// terminal does not obey it.
namespace holdfast::app {

/// --verbose was said.
void complain_in_detail();
[[nodiscard]] bool complains_in_detail();

void complain(std::string_view sentence);

/// Says why in plain words, after what it prevents if that is given, and answers the code that
/// means it.
exit_code complain(const error& why, std::string_view prevented = "");

}  // namespace holdfast::app
