// SPDX-License-Identifier: Apache-2.0
//
// holdfast schema: the tables of a database engine as SQL, for those who may not create tables from
// a program.
#include "command_line.hpp"
#include "option_types.hpp"

#ifdef HOLDFAST_APP_MYSQL
#include "driver/mysql/mysql_dialect.hpp"
#endif
#ifdef HOLDFAST_APP_POSTGRESQL
#include "driver/postgresql/postgresql_dialect.hpp"
#endif
#include "tasks/task_statements.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::app {
namespace {

struct schema_options {
    std::string engine = "postgresql";
};

exit_code print_schema(const schema_options& options) {
#ifdef HOLDFAST_APP_POSTGRESQL
    if (options.engine == "postgresql") {
        auto tables = postgresql::make_tables();
        std::ranges::move(
            detail::task_schema(postgresql::postgresql_dialect(), detail::writers::together),
            std::back_inserter(tables));
        fmt::print("BEGIN;\n{};\nCOMMIT;\n", fmt::join(tables, ";\n"));
        return exit_code::success;
    }
#endif
#ifdef HOLDFAST_APP_MYSQL
    if (options.engine == "mysql") {
        auto tables = mysql::make_tables();
        std::ranges::move(
            detail::task_schema(mysql::mysql_dialect(), detail::writers::together_plain),
            std::back_inserter(tables));
        fmt::print("{};\n", fmt::join(tables, ";\n"));
        return exit_code::success;
    }
#endif
    fmt::print(stderr, "holdfast schema: this program was built without {}:\n", options.engine);
    return exit_code::usage;
}

}  // namespace

void add_schema(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<schema_options>();
    CLI::App* words = to.add_subcommand("schema", "Print the tables of a database engine, as SQL");
    words->group("");  // for administrators, once; the overview fits a screen without it
    add_choice(*words, "--engine", options->engine, {"postgresql", "mysql"}, "Which database");
    words->footer(
        "The first program that uses a database creates the tables, if it may.\n"
        "Otherwise let an administrator run what this prints, and grant SELECT,\n"
        "INSERT, UPDATE and DELETE on them.\n"
        "Examples:\n"
        "  holdfast schema --engine postgresql | psql app\n"
        "  holdfast schema --engine mysql | mariadb app\n"
        "Exit codes: 0 printed, 2 misuse\n");
    all.push_back({.words = words, .run = [options] { return print_schema(*options); }});
}

}  // namespace holdfast::app
