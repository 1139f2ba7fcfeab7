// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/url.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// How each engine is opened. An engine adds one file and one line in the table of open.cpp.
namespace holdfast::detail {

/// What a client stands on: where leases are kept, and the engine below it if that speaks Redis
/// commands (else null).
struct opened_engine {
    std::shared_ptr<lease_store> store;
    std::shared_ptr<command_engine> commands;
};

/// An engine for the URL. Errors: as holdfast::open.
using engine_opener = result<opened_engine> (*)(const url& where, const client_options& options);

result<opened_engine> open_memory(const url& where, const client_options& options);

result<opened_engine> open_sqlite(const url& where, const client_options& options);

result<opened_engine> open_redis(const url& where, const client_options& options);

result<opened_engine> open_redlock(const url& where, const client_options& options);

/// Takes an option out of the URL, if it is there.
std::optional<std::string> take_option(url& where, std::string_view name);

/// What an option that makes no sense is answered with: what it takes.
std::unexpected<error> wrong_option(std::string_view option, std::string_view takes);

/// Errors: invalid_argument, naming the first option that is not in `known` and the nearest that
/// is.
result<void> only_options(const url& where, std::span<const std::string_view> known);

}  // namespace holdfast::detail
