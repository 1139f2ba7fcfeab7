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

/// A store for the URL. Errors: as holdfast::open.
using store_opener = result<std::shared_ptr<lease_store>> (*)(const url& where,
                                                              const client_options& options);

result<std::shared_ptr<lease_store>> open_memory(const url& where, const client_options& options);

result<std::shared_ptr<lease_store>> open_redis(const url& where, const client_options& options);

/// Takes an option out of the URL, if it is there.
std::optional<std::string> take_option(url& where, std::string_view name);

/// Errors: invalid_argument, naming the first option that is not in `known` and the nearest that is.
result<void> only_options(const url& where, std::span<const std::string_view> known);

}  // namespace holdfast::detail
