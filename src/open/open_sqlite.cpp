// SPDX-License-Identifier: Apache-2.0
//
// sqlite:/path is a file that the processes of one machine share. Options: busy_timeout,
// synchronous, create.
#include "driver/sqlite/file_listener.hpp"
#include "driver/sqlite/sqlite_connection.hpp"
#include "lease/tables/listener_thread.hpp"
#include "lease/tables/sql_lease_store.hpp"
#include "open/engines.hpp"
#include "open/task_databases.hpp"
#include "open/url_options.hpp"
#include "tasks/task_table.hpp"

#ifdef HOLDFAST_HAS_SQLITE_COMMANDS
#include "driver/sqlite/sqlite_commands.hpp"
#endif

#include <holdfast/engine/span_text.hpp>

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

/// One connection: a file has one writer at a time anyway.
class task_file final : public sql::database {
public:
    task_file(sqlite::sqlite_options options, clock& time)
        : options_(std::move(options)),
          clock_(time),
          texts_(task_statements(sqlite::sqlite_dialect(), writers::one_at_a_time)),
          listener_(std::make_unique<sqlite::file_listener>(options_.path)) {}
    [[nodiscard]] std::unique_ptr<sql::connection> make_connection() override {
        return std::make_unique<sqlite::sqlite_connection>(options_, clock_, texts_);
    }
    void touch() noexcept override { sqlite::touch_file(options_.path); }
    [[nodiscard]] result<void> hear_all(const sql::listener_id& whose,
                                        time_point give_up) override {
        // What the kernel tells comes in real time; a virtual clock's sleepers must not hear it.
        if (&clock_ != &system_clock()) return sql::database::hear_all(whose, give_up);
        return listener_.hear(whose, give_up);
    }
    void forget() noexcept override { listener_.forget(); }

private:
    const sqlite::sqlite_options options_;
    clock& clock_;
    const std::vector<std::string> texts_;
    sql::listener_thread listener_;
};

}  // namespace

result<task_store> open_sqlite_tasks(const url& where, const task_store_options& options) {
    auto file = options_of(where);
    if (!file) return std::unexpected(std::move(file.error()));
    auto database = std::make_unique<task_file>(std::move(*file), *options.time);
    return task_store(
        std::make_shared<task_table>(std::move(database), writers::one_at_a_time, options));
}

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
