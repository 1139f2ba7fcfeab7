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

/// A real PostgreSQL server of one test's own.
namespace holdfast::test {

struct postgres_options {
    /// The port speaks TLS with this material, which must outlive the server.
    const tls_material* tls = nullptr;
    /// Lines of pg_hba.conf. Empty: everybody is trusted.
    std::vector<std::string> access{};
    /// More of the server's settings, "max_connections=5"; they win over ours.
    std::vector<std::string> settings{};
};

/// Answers when the constructor returns; killed by the destructor. Listens on 127.0.0.1 and on a
/// unix socket in its directory. PostgreSQL does not run as root: then it runs as user postgres.
/// Writes are not synced to the disk; they survive the server's crash, not the machine's.
/// Everything here throws std::runtime_error; the text shows the server's log.
/// Thread safety: one thread at a time.
class postgres_server {
public:
    explicit postgres_server(postgres_options options = {});
    ~postgres_server();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    /// Where the unix socket is.
    [[nodiscard]] const std::filesystem::path& directory() const { return directory_->path(); }

    /// postgresql://postgres@127.0.0.1:11000/postgres.
    [[nodiscard]] std::string url(const std::string& database = "postgres") const;

    /// What a statement answers as the superuser, over the unix socket: the first column, a row for
    /// each line.
    std::vector<std::string> sql(const std::string& text, const std::string& database = "postgres");

    void stop();     ///< As an operator does it ("fast"), and waits for the end.
    void kill();     ///< SIGKILL to all of its processes: a crash.
    void pause();    ///< SIGSTOP to all of its processes.
    void resume();   ///< SIGCONT.
    void restart();  ///< Ends it if it runs, and starts it with the same port and data.

    [[nodiscard]] std::string log_tail() const { return process_ ? process_->log_tail() : ""; }

private:
    void start();
    void signal_all(int number);

    postgres_options options_;
    std::unique_ptr<temporary_directory> directory_;
    std::uint16_t port_;
    std::unique_ptr<child_process> process_;
};

}  // namespace holdfast::test
