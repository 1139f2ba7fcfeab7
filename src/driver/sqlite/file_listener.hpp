// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/tables/listener_thread.hpp"

#include <string>

/// How the processes that share a file tell each other that it has something new.
///
/// A writer sets the times of the file (touch_file) after its commit; a listener has the kernel
/// watch for that (inotify, IN_ATTRIB). SQLite itself never does it in WAL mode, so that a listener
/// is woken by what is told, and not by each transaction, its own among them. There is no second
/// file to make, to own and to delete, and whoever may write to the database may tell.
///
/// A file that is deleted or replaced is watched again within a second.
namespace holdfast::sqlite {

/// Best effort: a file that is not ours to write to is left alone.
void touch_file(const std::string& path) noexcept;

class file_listener final : public sql::listening_connection {
public:
    explicit file_listener(std::string path);
    ~file_listener() override;
    file_listener(const file_listener&) = delete;
    file_listener& operator=(const file_listener&) = delete;

    [[nodiscard]] result<void> connect(const sql::listener_id& whose) override;
    void attend(const sql::listener_id& whose, int closing) override;
    void close() noexcept override;
    [[nodiscard]] const std::string& label() const noexcept override { return path_; }

private:
    [[nodiscard]] bool watch() noexcept;

    const std::string path_;
    int fd_ = -1;
};

}  // namespace holdfast::sqlite
