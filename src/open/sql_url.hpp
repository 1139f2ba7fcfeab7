// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/engine/url.hpp>
#include <holdfast/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// What the URLs of SQL servers have in common. Each function takes its options out of the URL.
/// Errors: invalid_argument, naming the option and what it takes.
namespace holdfast::detail {

/// A whole number of that range.
[[nodiscard]] bool read_number(const std::string& text, std::size_t least, std::size_t most,
                               std::size_t& out);

[[nodiscard]] result<void> take_port(url& rest, std::uint16_t& out);

/// user, password_file, password_env; and what the URL itself says.
[[nodiscard]] result<void> take_credentials(url& rest, std::string& user, std::string& password);

/// sslmode, one of these; "" if it is not there.
[[nodiscard]] result<std::string> take_tls_mode(url& rest, std::span<const std::string_view> modes);

/// A time from 10 ms to 10 minutes.
[[nodiscard]] result<void> take_time(url& rest, std::string_view name, duration& out);

[[nodiscard]] result<void> take_connections(url& rest, std::size_t& out);

/// mode: row or session. True if it is session.
[[nodiscard]] result<void> take_mode(url& rest, bool& session);

/// on or off.
[[nodiscard]] result<void> take_switch(url& rest, std::string_view name, bool& out);

/// The path without its '/', if it is the name of a database.
[[nodiscard]] result<std::string> database_of(const url& where);

}  // namespace holdfast::detail
