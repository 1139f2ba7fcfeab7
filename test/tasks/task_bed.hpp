// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/sqlite/sqlite_connection.hpp"
#include "support/temporary_directory.hpp"
#include "tasks/task_table.hpp"

#include <holdfast/tasks/task_store.hpp>
#include <holdfast/virtual_clock.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

/// A file with tasks whose time moves only when a test says so.
namespace holdfast::test {

class task_bed {
public:
    virtual_clock time;
    seeded_entropy chance{7};

    [[nodiscard]] std::string url() const {
        return "sqlite:" + (folder_.path() / "tasks.db").native();
    }
    [[nodiscard]] task_store open() {
        return open_tasks(url(), {.time = &time, .chance = &chance}).value();
    }
    [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

private:
    temporary_directory folder_;
};

/// Connections to a task file, each wrapped by what a test needs.
class wrapped_task_file final : public sql::database {
public:
    using wrapper =
        std::function<std::unique_ptr<sql::connection>(std::unique_ptr<sql::connection>)>;
    wrapped_task_file(const std::filesystem::path& file, clock& time, wrapper wrap)
        : time_(time), wrap_(std::move(wrap)) {
        options_.path = file.native();
    }
    [[nodiscard]] std::unique_ptr<sql::connection> make_connection() override {
        return wrap_(std::make_unique<sqlite::sqlite_connection>(options_, time_, texts_));
    }

private:
    sqlite::sqlite_options options_;
    clock& time_;
    wrapper wrap_;
    std::vector<std::string> texts_ =
        detail::task_statements(sqlite::sqlite_dialect(), detail::writers::one_at_a_time);
};

}  // namespace holdfast::test
