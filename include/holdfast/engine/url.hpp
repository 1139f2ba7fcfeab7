// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Where an engine is, split into its parts.
///
///     scheme://[user[:password]@]host[:port][,host[:port]…][/path][?option=value&…]
///     scheme:[path][?option=value&…]
///
/// Everything is percent-decoded. This is the one parser for all engines; what a scheme, a path or
/// an option means is the engine's business. A password may stand in a URL, so no error of this
/// file repeats any part of it, and a URL is only ever shown by `redacted()`.
namespace holdfast {

struct url_host {
    std::string name;                   ///< Without the brackets of an IPv6 address.
    std::optional<std::uint16_t> port;  ///< As given; the engine knows its default.

    friend bool operator==(const url_host&, const url_host&) = default;
};

struct url {
    std::string scheme;  ///< In lower case.
    std::optional<std::string> user;
    std::optional<std::string> password;
    std::vector<url_host> hosts;  ///< Empty for `memory:` and `redis+unix:///path`.
    std::string path;             ///< With its leading '/', if it has one.
    std::vector<std::pair<std::string, std::string>> options;  ///< In the order given.
};

/// Errors: invalid_argument; the detail says what is wrong and where, not what was written there.
[[nodiscard]] result<url> parse_url(std::string_view text);

/// The URL for logs: "redis://app:***@db1:6379/0?connections=2". The password is gone, and so is
/// the value of every option whose name speaks of a password, a secret or a token.
[[nodiscard]] std::string redacted(const url& parsed);

/// The same for a text that may not even be a URL: then only its scheme is shown.
[[nodiscard]] std::string redacted(std::string_view text);

}  // namespace holdfast
