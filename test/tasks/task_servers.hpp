// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifdef HOLDFAST_TEST_MYSQL
#include "support/mariadb_server.hpp"
#endif
#ifdef HOLDFAST_TEST_POSTGRESQL
#include "support/postgres_server.hpp"
#endif

#include <string>
#include <vector>

/// The servers that keep tasks, one of each for all cases of the program.
namespace holdfast::test {

#ifdef HOLDFAST_TEST_POSTGRESQL
inline postgres_server& task_postgresql() {
    static postgres_server one;
    return one;
}
#endif

#ifdef HOLDFAST_TEST_MYSQL
inline mariadb_server& task_mysql() {
    static mariadb_server one;
    return one;
}
#endif

/// What a case can be run on; `sqlite` is always among them. Those that wake workers of other
/// processes:
inline std::vector<std::string> waking_engines() {
    std::vector<std::string> all{"sqlite"};
#ifdef HOLDFAST_TEST_POSTGRESQL
    all.emplace_back("postgresql");
#endif
    return all;
}
/// All of them.
inline std::vector<std::string> task_engines() {
    std::vector<std::string> all = waking_engines();
#ifdef HOLDFAST_TEST_MYSQL
    all.emplace_back("mysql");
#endif
    return all;
}

/// An empty database of that kind; `file` is where SQLite keeps it.
inline std::string empty_task_database(const std::string& engine, const std::string& file) {
    [[maybe_unused]] constexpr auto drop =
        "DROP TABLE IF EXISTS holdfast_tasks, holdfast_queues, holdfast_schedules";
#ifdef HOLDFAST_TEST_POSTGRESQL
    if (engine == "postgresql") {
        task_postgresql().sql(drop);
        return task_postgresql().url();
    }
#endif
#ifdef HOLDFAST_TEST_MYSQL
    if (engine == "mysql") {
        task_mysql().sql(drop);
        return task_mysql().url();
    }
#endif
    return "sqlite:" + file;
}

}  // namespace holdfast::test
