// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/child_process.hpp"
#include "support/raw_connection.hpp"
#include "support/temporary_directory.hpp"
#include "support/tls_material.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// A real redis-server of one test's own.
namespace holdfast::test {

struct redis_options {
    /// 0: a free one.
    std::uint16_t port = 0;
    /// No TCP port at all: url() is the unix socket's.
    enum class listen : std::uint8_t { tcp, unix_socket } on = listen::tcp;
    /// The port speaks TLS with this material, which must outlive the server. A client certificate
    /// is checked if one is shown; "--tls-auth-clients yes" in `arguments` demands one.
    const tls_material* tls = nullptr;
    /// The default user's password (requirepass).
    std::string password{};
    /// Lines of an ACL file: "user alice on >secret ~app:* +@all". A user of the harness is added.
    std::vector<std::string> acl{};
    /// The port of a master to replicate.
    std::optional<std::uint16_t> replica_of{};
    /// A library for LD_PRELOAD, and other "NAME=value" pairs.
    std::filesystem::path preload{};
    std::vector<std::string> environment{};
    /// Lines of a configuration file, which the server may rewrite (sentinels do).
    std::vector<std::string> configuration{};
    /// More of redis-server's own arguments; they win over ours.
    std::vector<std::string> arguments{};
};

/// Answers PING when the constructor returns; killed by the destructor. Nothing is persisted unless
/// `arguments` say so: a restart loses the data.
/// Constructor, restart() and raw() throw std::runtime_error; the text shows the server's log.
/// Thread safety: one thread at a time.
class redis_server {
public:
    explicit redis_server(redis_options options = {});

    [[nodiscard]] std::uint16_t port() const noexcept { return options_.port; }
    [[nodiscard]] std::filesystem::path socket() const { return directory_->path() / "socket"; }
    [[nodiscard]] const std::filesystem::path& directory() const { return directory_->path(); }

    /// redis://127.0.0.1:11000, rediss://…, redis+unix:///…, with the password if there is one.
    [[nodiscard]] std::string url() const;

    void stop();     ///< SHUTDOWN as an operator does it (SIGTERM), and waits for the end.
    void kill();     ///< SIGKILL: a crash.
    void pause();    ///< SIGSTOP: connections stay open, nothing is answered.
    void resume();   ///< SIGCONT.
    void restart();  ///< Ends it if it runs, and starts it with the same port and arguments.
    [[nodiscard]] bool running() { return process_ && process_->running(); }

    /// A command over the harness's own unix socket (also when the port speaks TLS), with the
    /// harness's own rights (also when the default user has none). Error replies are replies.
    /// Each call has a connection of its own: servers end connections when their role changes.
    template <class... Words>
    reply raw(const Words&... list) {
        return raw_words(words(list...).view());
    }
    reply raw_words(std::span<const std::string_view> args);

    /// A raw connection of the caller's own, authenticated like raw().
    [[nodiscard]] raw_connection connect() const;

    [[nodiscard]] std::string log_tail() const { return process_ ? process_->log_tail() : ""; }

private:
    [[nodiscard]] std::vector<std::string> argv() const;
    void start();

    redis_options options_;
    std::unique_ptr<temporary_directory> directory_;
    std::unique_ptr<child_process> process_;
};

}  // namespace holdfast::test
