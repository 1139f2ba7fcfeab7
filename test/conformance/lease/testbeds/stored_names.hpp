// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/reply.hpp>

#include <string>
#include <vector>

/// What a testbed of a command engine answers to leftovers().
namespace holdfast::test {

/// The keys that KEYS * answered, apart from what is kept once for the whole engine.
[[nodiscard]] std::vector<std::string> names_only(const reply& keys);

/// Sorted, and each once: several servers store the same name.
[[nodiscard]] std::vector<std::string> without_repeats(std::vector<std::string> all);

}  // namespace holdfast::test
