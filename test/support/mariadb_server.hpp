// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"
#include "support/tls_material.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

/// A real MariaDB server of one test's own.
namespace holdfast::test {

struct mariadb_options {
    /// The port speaks TLS with this material, which must outlive the server.
    const tls_material* tls = nullptr;
    /// More of the server's settings, "max-connections=5"; they win over ours.
    std::vector<std::string> settings{};
};

/// Answers when the constructor returns; killed by the destructor. Listens on 127.0.0.1 and on a
/// unix socket in its directory, has a database `app`, and lets root in without a password. Root
/// runs it as user mysql. Writes are not synced to the disk; they survive the server's crash, not
/// the machine's.
/// Everything here throws std::runtime_error; the text shows the server's log.
/// Thread safety: one thread at a time.
class mariadb_server {
public:
    explicit mariadb_server(mariadb_options options = {});
    ~mariadb_server();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::filesystem::path socket() const { return directory_->path() / "socket"; }

    /// mysql://root@127.0.0.1:11000/app.
    [[nodiscard]] std::string url(const std::string& database = "app") const;

    /// What statements answer as root, over the unix socket: a row for each line, a tab between
    /// columns.
    std::vector<std::string> sql(const std::string& text, const std::string& database = "app");

    void kill();     ///< SIGKILL: a crash.
    void pause();    ///< SIGSTOP.
    void resume();   ///< SIGCONT.
    void restart();  ///< Ends it if it runs, and starts it with the same port and data.

    [[nodiscard]] std::string log_tail() const { return process_ ? process_->log_tail() : ""; }

private:
    void start();

    mariadb_options options_;
    std::unique_ptr<temporary_directory> directory_;
    std::uint16_t port_;
    std::unique_ptr<child_process> process_;
};

}  // namespace holdfast::test
