// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <optional>
#include <string>
#include <string_view>

/// A signed token that lets one user open a WebSocket.
///
/// A browser cannot send an Authorization header with a WebSocket, and a server's own secret does
/// not belong in a page. So a backend that has the secret signs who may come in, where and until
/// when, and the page puts the token into the URL:
///
///     base64url("v1 EXPIRES USER ROOM") "." base64url(HMAC-SHA256 of the first part)
///
/// The token is no secret of the server's: it is worth one user's view, until it expires.
namespace holdfast::net {

struct handshake_claim {
    std::string user;
    /// Empty: any room.
    std::string room;
    /// Seconds since 1970.
    std::int64_t expires = 0;
};

[[nodiscard]] std::string sign_handshake(const handshake_claim& claim, std::string_view secret);

/// The claim, if the secret signed it and it has not expired at `now`.
[[nodiscard]] std::optional<handshake_claim> verify_handshake(std::string_view token,
                                                              std::string_view secret,
                                                              wall_time now);

/// Compares without telling by its time where the difference is.
[[nodiscard]] bool same_secret(std::string_view a, std::string_view b) noexcept;

/// SHA-1 as bytes: what a WebSocket's handshake is answered with.
[[nodiscard]] std::string sha1_bytes(std::string_view text);

}  // namespace holdfast::net
