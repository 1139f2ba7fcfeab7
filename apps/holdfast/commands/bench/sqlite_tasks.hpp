// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// A queue of tasks in a file as one would write it by hand: what `holdfast bench tasks` compares
/// with.
namespace holdfast::bench {

/// Puts so many tasks into a table, then takes and finishes one after the other by three prepared
/// statements: look, claim if it is still there, finish by fence. Answers the seconds of the
/// latter; negative if something went wrong.
[[nodiscard]] double tasks_by_sqlite(const std::string& path, int count);

}  // namespace holdfast::bench
