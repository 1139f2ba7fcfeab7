// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct _zhandle;

/// A real ZooKeeper ensemble of one test's own.
namespace holdfast::test {

/// Serves when the constructor returns; killed by the destructor. Listens on 127.0.0.1. A tick is
/// 250 ms, so that the shortest session is half a second; the longest is a minute.
/// Everything here throws std::runtime_error; the text shows a server's log.
/// Thread safety: one thread at a time.
class zookeeper_ensemble {
public:
    explicit zookeeper_ensemble(std::size_t members = 3);
    zookeeper_ensemble(const zookeeper_ensemble&) = delete;
    zookeeper_ensemble& operator=(const zookeeper_ensemble&) = delete;
    ~zookeeper_ensemble();

    /// zookeeper://127.0.0.1:11000,127.0.0.1:11002
    [[nodiscard]] std::string url() const { return "zookeeper://" + hosts(); }
    /// 127.0.0.1:11000,127.0.0.1:11002
    [[nodiscard]] std::string hosts() const;
    [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
    [[nodiscard]] std::uint16_t port(std::size_t member) const { return members_[member].port; }

    /// As an operator sees it, by the plain client library. Children of a node that is not there:
    /// none. Nodes are removed with all that is below them.
    [[nodiscard]] std::vector<std::string> children(const std::string& path);
    [[nodiscard]] std::string data(const std::string& path);
    [[nodiscard]] std::int64_t session_of(const std::string& path);
    void make(const std::string& path, const std::string& data = {});
    void remove(const std::string& path);
    /// Only what is below it.
    void clear(const std::string& path);

    [[nodiscard]] std::size_t leader();
    void kill(std::size_t member);
    void pause(std::size_t member);
    void resume(std::size_t member);
    /// With the same ports and data.
    void start(std::size_t member);
    /// Until every member that was started serves.
    void wait_until_serving();

private:
    struct member {
        std::uint16_t port = 0;
        std::uint16_t peer_port = 0;
        std::uint16_t election_port = 0;
        std::unique_ptr<child_process> process;
    };
    /// "leader", "follower", "standalone"; empty: it serves nobody.
    [[nodiscard]] std::string mode_of(std::size_t member) const;
    [[nodiscard]] _zhandle* shell();

    temporary_directory directory_;
    std::vector<member> members_;
    _zhandle* shell_ = nullptr;
};

}  // namespace holdfast::test
