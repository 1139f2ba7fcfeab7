// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// The compression of WebSocket messages (RFC 7692), each message by itself.
///
/// Without context takeover a compressed message does not depend on the connection: it is made once
/// for all viewers, and no connection keeps a window of 32 KiB.
namespace holdfast::net {

/// Thread safety: any thread; each keeps a compressor of its own.
[[nodiscard]] std::string deflate_message(std::string_view plain);

/// Nothing if it is no such message, or would be longer than `limit`: a few bytes can be made to
/// unpack to gigabytes.
[[nodiscard]] std::optional<std::string> inflate_message(std::string_view packed,
                                                         std::size_t limit);

}  // namespace holdfast::net
