// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"
#include "support/tls_material.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// A real etcd cluster of one test's own.
namespace holdfast::test {

struct etcd_cluster_options {
    std::size_t members = 1;
    /// Clients speak TLS with this material and show a certificate of it. It must outlive them.
    const tls_material* tls = nullptr;
    /// More of the server's flags, "--auth-token-ttl=1".
    std::vector<std::string> flags{};
};

/// Has a leader when the constructor returns; killed by the destructor. Listens on 127.0.0.1.
/// Elections are quick (500 ms), so that the shortest lease is one second.
/// Everything here throws std::runtime_error; the text shows a server's log.
/// Thread safety: one thread at a time.
class etcd_cluster {
public:
    explicit etcd_cluster(etcd_cluster_options options = {});

    /// etcd://127.0.0.1:11000,127.0.0.1:11002
    [[nodiscard]] std::string url() const;
    [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
    [[nodiscard]] std::uint16_t port(std::size_t member) const { return members_[member].port; }

    /// What etcdctl answers, line by line; it must succeed.
    std::vector<std::string> ctl(std::vector<std::string> words);
    /// The words that start etcdctl on this cluster, for a child_process.
    [[nodiscard]] std::vector<std::string> ctl_words(const std::vector<std::string>& words) const;

    [[nodiscard]] std::size_t leader();
    void kill(std::size_t member);
    void pause(std::size_t member);
    void resume(std::size_t member);
    /// With the same ports and data.
    void start(std::size_t member);
    void wait_until_healthy();

    [[nodiscard]] const std::filesystem::path& directory() const { return directory_.path(); }

private:
    struct member {
        std::uint16_t port = 0;
        std::uint16_t peer_port = 0;
        std::unique_ptr<child_process> process;
    };
    [[nodiscard]] std::string endpoints() const;

    etcd_cluster_options options_;
    temporary_directory directory_;
    std::vector<member> members_;
};

}  // namespace holdfast::test
