// SPDX-License-Identifier: Apache-2.0
#include "driver/mysql/mysql_schema.hpp"

#include "driver/mysql/mysql_dialect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <mysql.h>

#include <cstdlib>
#include <optional>
#include <utility>

namespace holdfast::mysql {
namespace {

// The version of the tables; nothing if they are not there, or not all of them yet.
result<std::optional<int>> version_of(mysql_link& link, time_point deadline) {
    std::optional<int> version;
    const auto said = link.ask(
        "SELECT version FROM holdfast_meta",
        [&](const statement_result& one) {
            const MYSQL_ROW row = one.rows != nullptr ? ::mysql_fetch_row(one.rows) : nullptr;
            if (row != nullptr && row[0] != nullptr) version = std::atoi(row[0]);
        },
        deadline);
    if (said || said.error().number == no_such_table) return version;
    return std::unexpected(refused(said.error(), link.label()));
}

}  // namespace

result<void> check_tables(mysql_link& link, const mysql_options& options, time_point deadline) {
    auto found = version_of(link, deadline);
    if (!found) return std::unexpected(std::move(found.error()));
    if (!*found && !options.create) {
        return fail(errc::unavailable,
                    fmt::format("{}: the tables are not there, and the URL says create=off: run "
                                "what `holdfast schema --engine mysql` prints",
                                link.label()));
    }
    if (!*found) {
        const auto made = link.ask(
            fmt::format("{}", fmt::join(make_tables(), ";\n")), [](const statement_result&) {},
            deadline);
        if (!made) return std::unexpected(cannot_create(made.error(), link.label()));
        found = version_of(link, deadline);
        if (!found) return std::unexpected(std::move(found.error()));
    }
    const int version = found->value_or(0);
    if (version == sql::schema_version) return {};
    return fail(errc::unsupported, fmt::format("{}: {}", link.label(),
                                               sql::version_refusal(version, "another database")));
}

}  // namespace holdfast::mysql
