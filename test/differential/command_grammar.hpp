// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "differential/operation.hpp"
#include "differential/value_pools.hpp"

#include <cstdint>

/// Random commands from a weighted grammar of everything that the embedded engine speaks.
///
/// A rule is a line of text: `<pool>` draws a word, `(A|B)` is one of them, `[A|B]` is one of them
/// or nothing, `{A}` is A one to four times.
namespace holdfast::test {

/// Where a command will stand, which decides what may be drawn.
enum class place : std::uint8_t {
    pipeline,     ///< Everything but what blocks or belongs to MULTI.
    transaction,  ///< Not what the server draws, not DBSIZE.
    script        ///< Neither, and nothing that tells the time.
};

/// One command; now and then with a word too few, too many or wrong.
[[nodiscard]] word_vector draw_command(value_pools& pools, place where);

/// Words for one rule's text.
[[nodiscard]] word_vector expand_rule(value_pools& pools, std::string_view rule);

/// May a word of it not be replaced by just any? Then a cursor would be the server's own, a count
/// would ask it for 2^63 elements, or a key would expire at a moment that the two sides do not
/// share.
[[nodiscard]] bool is_delicate(const word_vector& args);

/// Does Redis answer this command in an order of its own?
[[nodiscard]] bool is_unordered(const word_vector& args);

}  // namespace holdfast::test
