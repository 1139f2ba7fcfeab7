// SPDX-License-Identifier: Apache-2.0
//
// Tasks by the URL of a database: the same files and servers as for leases.
#include "open/task_databases.hpp"
#include "tasks/task_table.hpp"

#include <holdfast/engine/url.hpp>
#include <holdfast/tasks/task_store.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace holdfast {
namespace {

struct task_database {
    std::string_view scheme;
    result<task_store> (*open)(const url& where, const task_store_options& options);
};

constexpr task_database task_databases[] = {
#define HOLDFAST_TASKS(scheme, opener) {scheme, detail::opener},
#include "task_table.inc"
#undef HOLDFAST_TASKS
    {"", nullptr},  // for a build without any of them
};

}  // namespace

result<task_store> open_tasks(std::string_view where, const task_store_options& options) {
    auto read = parse_url(where);
    if (!read) return std::unexpected(std::move(read.error()));
    const auto* const found =
        std::ranges::find(task_databases, read->scheme, &task_database::scheme);
    if (found != std::end(task_databases) && found->open != nullptr) {
        return found->open(*read, options);
    }
    return fail(errc::unsupported,
                "tasks are kept in tables: use sqlite:/path/of/the/file for one machine, or "
                "postgresql://host/database or mysql://host/database for several (if this build "
                "has it)");
}

}  // namespace holdfast
