// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Base64 of RFC 4648: the plain alphabet for WebSocket keys, the one for URLs for tokens.
namespace holdfast::net {

enum class base64_alphabet : bool { plain, url };

/// Plain is padded, the one for URLs is not.
[[nodiscard]] std::string to_base64(std::string_view bytes, base64_alphabet alphabet);

/// Nothing if it is not what to_base64() writes.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text,
                                                     base64_alphabet alphabet);

}  // namespace holdfast::net
