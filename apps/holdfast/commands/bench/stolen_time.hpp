// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Processor time that the host of a virtual machine gave to others while something here wanted to
/// run. A measurement from which much was taken says more about the neighbours than about us.
namespace holdfast::app {

/// Since the machine was started, of all its processors; 0 if it cannot be known.
[[nodiscard]] double stolen_seconds();

/// The same from the text of /proc/stat, in ticks.
[[nodiscard]] double stolen_ticks(std::string_view stat);

}  // namespace holdfast::app
