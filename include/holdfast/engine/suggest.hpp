// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

/// "Did you mean": the known word that is nearest to a mistyped one.
namespace holdfast {

/// `; did you mean 'connect_timeout'?` if a known word is near enough to be a slip of the fingers,
/// and nothing otherwise. Made to be put at the end of a sentence.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> known);

}  // namespace holdfast
