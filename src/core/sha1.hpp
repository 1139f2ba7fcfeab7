// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// SHA-1, by which Redis names a script.
///
/// Nothing here rests on its being hard to forge: EVALSHA asks for it, and a server computes the
/// same. It is written out because the core needs no other library for anything else.
namespace holdfast {

/// Returns the digest of the text as 40 lower-case hexadecimal digits.
[[nodiscard]] std::string sha1_hex(std::string_view text);

}  // namespace holdfast
