// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "differential/operation.hpp"

#include <holdfast/engine/reply.hpp>

#include <cstdint>

/// When two replies to the same command are the same.
namespace holdfast::test {

enum class verdict : std::uint8_t {
    same,
    /// Times that differ by so little that the two sides may only have run at different moments.
    /// It is a difference if it comes again every time.
    late,
    different
};

/// Everything is compared exactly, error texts and floating point numbers too, except:
/// - replies whose order Redis does not promise (SMEMBERS, HGETALL, KEYS, SCAN, …): as multisets;
/// - remaining and absolute times: see `late`; absolute times that the grammar itself wrote down
///   are compared exactly.
/// SPOP and SRANDMEMBER without a count that takes all are not for this function.
[[nodiscard]] verdict compare(const word_vector& args, const reply& left, const reply& right);

/// As multisets on every level: for a script's reply that holds unordered elements.
[[nodiscard]] verdict compare_unordered(const reply& left, const reply& right);

/// EXEC's array, each element by its own command.
[[nodiscard]] verdict compare_each(const std::vector<const word_vector*>& commands,
                                   const reply& left, const reply& right);

/// SPOP or SRANDMEMBER: the outcome is drawn by the server.
[[nodiscard]] bool draws(const word_vector& args);

}  // namespace holdfast::test
