// SPDX-License-Identifier: Apache-2.0
#include "driver/postgresql/postgresql_schema.hpp"

#include "driver/postgresql/postgresql_dialect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <libpq-fe.h>

#include <cstdlib>
#include <optional>

namespace holdfast::postgresql {
namespace {

constexpr std::string_view no_such_table = "42P01";

// The version of the tables; nothing if there are none.
result<std::optional<int>> version_of(postgresql_link& link, time_point deadline) {
    const auto said = link.ask("SELECT version FROM holdfast_meta", deadline);
    if (!said) {
        if (said.error().state == no_such_table) return std::optional<int>();
        return std::unexpected(refused(said.error(), link.label()));
    }
    if (::PQntuples(said->get()) != 1) {
        return fail(errc::corrupt,
                    fmt::format("{}: the table holdfast_meta has no row: somebody deleted it",
                                link.label()));
    }
    return std::optional<int>(std::atoi(::PQgetvalue(said->get(), 0, 0)));
}

}  // namespace

result<void> check_tables(postgresql_link& link, const postgresql_options& options,
                          time_point deadline) {
    auto found = version_of(link, deadline);
    if (!found) return std::unexpected(std::move(found.error()));
    if (!*found && !options.create) {
        return fail(errc::unavailable,
                    fmt::format("{}: the tables are not there, and the URL says create=off: run "
                                "what `holdfast schema --engine postgresql` prints",
                                link.label()));
    }
    if (!*found) {
        const auto made = link.ask(fmt::format("{}", fmt::join(make_tables(), ";\n")), deadline);
        if (!made) return std::unexpected(cannot_create(made.error(), link.label()));
        found = version_of(link, deadline);
        if (!found) return std::unexpected(std::move(found.error()));
    }
    const int version = found->value_or(0);
    if (version == sql::schema_version) return {};
    return fail(errc::unsupported,
                fmt::format("{}: {}", link.label(),
                            sql::version_refusal(version, "another schema (schema=)")));
}

}  // namespace holdfast::postgresql
