// SPDX-License-Identifier: Apache-2.0
//
// sqlite:/path is a file that the processes of one machine share. Options: busy_timeout,
// synchronous, create.
#include "driver/sqlite/sqlite_connection.hpp"
#include "lease/tables/sql_lease_store.hpp"
#include "open/engines.hpp"
#include "open/url_options.hpp"

#ifdef HOLDFAST_HAS_SQLITE_COMMANDS
#include "driver/sqlite/sqlite_commands.hpp"
#endif

#include <holdfast/engine/span_text.hpp>

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <memory>
#include <utility>

namespace holdfast::detail {
namespace {

std::unexpected<error> wrong(std::string_view what) {
    return fail(errc::invalid_argument, fmt::format("engine URL: sqlite: {}", what));
}

result<sqlite::sqlite_options> options_of(const url& where) {
    constexpr std::array<std::string_view, 3> known{"busy_timeout", "synchronous", "create"};
    if (const auto fit = only_options(where, known); !fit) return std::unexpected(fit.error());
    if (!where.hosts.empty() || where.user || where.password) {
        return wrong("has no server; write sqlite:/path/of/the/file");
    }
    if (where.path.empty() || where.path.ends_with('/')) {
        return wrong("names no file; write sqlite:/path/of/the/file");
    }
    if (where.path == ":memory:") return wrong("keeps a file; for none, write memory:");
    if (where.path.find('\0') != std::string::npos) return wrong("has a zero byte in its path");
    sqlite::sqlite_options options;
    // Stays the same file when the program changes its directory.
    std::error_code problem;
    options.path = std::filesystem::absolute(where.path, problem).string();
    if (problem) return wrong("takes an absolute path here: this directory has none");
    url rest = where;
    if (const auto text = take_option(rest, "busy_timeout")) {
        const auto span = parse_span(*text);
        if (!span || *span < std::chrono::milliseconds(1) || *span > std::chrono::minutes(10)) {
            return wrong("option busy_timeout takes a time from 1ms to 10m");
        }
        options.busy_timeout = *span;
    }
    if (const auto text = take_option(rest, "synchronous")) {
        if (*text != "normal" && *text != "full") {
            return wrong("option synchronous takes normal or full");
        }
        options.full_sync = *text == "full";
    }
    if (const auto text = take_option(rest, "create")) {
        if (*text != "on" && *text != "off") return wrong("option create takes on or off");
        options.create = *text == "on";
    }
    return options;
}

}  // namespace

result<opened_engine> open_sqlite(const url& where, const client_options& options) {
    auto file = options_of(where);
    if (!file) return std::unexpected(std::move(file.error()));
    opened_engine made;
#ifdef HOLDFAST_HAS_SQLITE_COMMANDS
    made.commands = sqlite::make_sqlite_commands(*file, *options.time, *options.chance);
#endif
    auto connection = std::make_unique<sqlite::sqlite_connection>(std::move(*file), *options.time);
    made.store = std::make_shared<sql::sql_lease_store>(std::move(connection), *options.time);
    return made;
}

}  // namespace holdfast::detail
