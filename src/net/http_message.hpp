// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// HTTP requests and responses as values. Nothing here reads a socket.
namespace holdfast::net {

/// Name and value.
using header = std::pair<std::string, std::string>;

/// Compares as names of headers and schemes are compared: ASCII letters without their case.
[[nodiscard]] bool same_word(std::string_view a, std::string_view b) noexcept;

struct http_request {
    std::string method;
    /// As it was sent: "/logic/rooms/a%20b?x=1".
    std::string target;
    /// Decoded: "/logic/rooms/a b".
    std::string path;
    /// Decoded, in order.
    std::vector<header> query;
    std::vector<header> headers;
    std::string body;
    /// The other end's address without its port: "127.0.0.1".
    std::string peer;
    bool keep_alive = true;

    /// The first header with this name; empty if there is none.
    [[nodiscard]] std::string_view header_value(std::string_view name) const noexcept;

    /// The first value of a query parameter.
    [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const noexcept;
};

struct http_response {
    int status = 200;
    std::string type = "application/json";
    std::vector<header> headers = {};
    std::string body = {};
};

/// What is wrong with a request, for people and programs: a body of RFC 9457.
///
///     problem(400, "missing_field", "roomId is missing")
///
/// `reason` is the machine-readable word: the last part of `type`, and a member of its own.
[[nodiscard]] http_response problem(int status, std::string_view reason, std::string_view detail);

/// "Not Found" for 404.
[[nodiscard]] std::string_view status_text(int status) noexcept;

/// The bytes of a response. `keep_alive` decides the Connection header.
enum class after_response : bool { close, keep_alive };
[[nodiscard]] std::string to_bytes(const http_response& response, after_response then,
                                   bool head_only = false);

/// The path and query of a request's target, decoded.
struct decoded_target {
    std::string path;
    std::vector<header> query;
};

/// Nothing if it is no target: does not begin with '/', a broken escape, a NUL.
[[nodiscard]] std::optional<decoded_target> decode_target(std::string_view target);

/// A string of JSON, with its quotation marks. A byte that is no UTF-8 becomes U+FFFD.
[[nodiscard]] std::string quoted_json(std::string_view text);

}  // namespace holdfast::net
