// SPDX-License-Identifier: Apache-2.0
//
// Tasks by the URL of a database: the same files and servers as for leases.
#include "open/task_databases.hpp"
#include "tasks/task_table.hpp"

#include <holdfast/engine/url.hpp>
#include <holdfast/tasks/task_store.hpp>

#include <memory>
#include <utility>

namespace holdfast {

result<task_store> open_tasks(std::string_view where, const task_store_options& options) {
    auto read = parse_url(where);
    if (!read) return std::unexpected(std::move(read.error()));
#ifdef HOLDFAST_HAS_SQLITE
    if (read->scheme == "sqlite") return detail::open_sqlite_tasks(*read, options);
#endif
#ifdef HOLDFAST_HAS_POSTGRESQL
    if (read->scheme == "postgresql" || read->scheme == "postgres") {
        return detail::open_postgresql_tasks(*read, options);
    }
#endif
#ifdef HOLDFAST_HAS_MYSQL
    if (read->scheme == "mysql" || read->scheme == "mariadb") {
        return detail::open_mysql_tasks(*read, options);
    }
#endif
    return fail(errc::unsupported,
                "tasks are kept in tables: use sqlite:/path/of/the/file for one machine, or "
                "postgresql://host/database or mysql://host/database for several (if this build "
                "has it)");
}

}  // namespace holdfast
