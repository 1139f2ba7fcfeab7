// SPDX-License-Identifier: Apache-2.0
#include "support/run_sql.hpp"

#include <sqlite3.h>

#include <stdexcept>

namespace holdfast::test {

std::vector<std::string> run_sql(const std::filesystem::path& file, const std::string& text) {
    std::vector<std::string> rows;
    sqlite3* db = nullptr;
    int code = ::sqlite3_open(file.c_str(), &db);
    ::sqlite3_busy_timeout(db, 5000);
    const auto keep = [](void* to, int count, char** values, char** /*names*/) {
        if (count > 0)
            static_cast<std::vector<std::string>*>(to)->push_back(values[0] ? values[0] : "");
        return 0;
    };
    if (code == SQLITE_OK) code = ::sqlite3_exec(db, text.c_str(), keep, &rows, nullptr);
    const std::string problem = ::sqlite3_errmsg(db);
    ::sqlite3_close(db);
    if (code != SQLITE_OK) throw std::runtime_error(text + ": " + problem);
    return rows;
}

}  // namespace holdfast::test
