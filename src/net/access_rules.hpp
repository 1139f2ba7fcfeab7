// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/http_message.hpp"

#include <holdfast/error.hpp>

#include <optional>
#include <string>
#include <vector>

/// Who may ask: the Host and Origin headers, and the bearer token.
///
/// Without a token the server listens on loopback only. That alone does not keep a page of another
/// site out, whose browser runs on the same machine: it could send from there, or have its own name
/// resolve to 127.0.0.1 (DNS rebinding). So a Host must be an address, localhost, or a name that
/// was configured; and a browser's Origin must be the Host itself, or one that was configured.
namespace holdfast::net {

struct access_rules {
    /// Empty: no token is asked for.
    std::string bearer;
    /// Names in the Host header, besides addresses and localhost: "push.example.com".
    std::vector<std::string> hosts;
    /// Besides the page's own: "https://www.example.com". "*" allows any.
    std::vector<std::string> origins;
};

/// Why a request may not be answered at all; nothing if it may.
[[nodiscard]] std::optional<http_response> refuse_stranger(const access_rules& rules,
                                                           const http_request& request);

/// Why a request has no right to what only the bearer may; nothing if it has.
[[nodiscard]] std::optional<http_response> refuse_without_token(const access_rules& rules,
                                                                const http_request& request);

/// An address to listen on, from "127.0.0.1:8090" or "[::1]:8090".
struct listen_address {
    std::string host;
    std::uint16_t port = 0;
    bool loopback = false;
};

/// Errors: invalid_argument; the detail says what would be right.
[[nodiscard]] result<listen_address> parse_listen(std::string_view text);

}  // namespace holdfast::net
