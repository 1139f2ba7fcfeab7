// SPDX-License-Identifier: Apache-2.0
#include "support/zookeeper_server.hpp"

#include "support/free_port.hpp"
#include "support/wait_for.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <zookeeper/zookeeper.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

void no_log(const char* /*message*/) {}
void no_watch(zhandle_t*, int, int, const char*, void*) {}

std::string below(const std::string& path, const std::string& child) {
    return (path == "/" ? "" : path) + "/" + child;
}

}  // namespace

zookeeper_ensemble::zookeeper_ensemble(std::size_t members) {
    members_.resize(members);
    for (member& one : members_) {
        one.port = free_port();
        one.peer_port = free_port();
        one.election_port = free_port();
    }
    for (std::size_t i = 0; i < members; ++i) start(i);
    wait_until_serving();
}

zookeeper_ensemble::~zookeeper_ensemble() {
    for (member& one : members_) one.process.reset();
    if (shell_ != nullptr) zookeeper_close(shell_);
}

// Small and quick to start: a JVM that neither optimizes much nor waits for the disk.
void zookeeper_ensemble::start(std::size_t which) {
    member& one = members_[which];
    const auto home = directory_.path() / ("z" + std::to_string(which));
    std::filesystem::create_directories(home);
    std::ofstream(home / "myid") << which + 1 << '\n';
    std::ofstream config(home / "zoo.cfg");
    config << "tickTime=250\ninitLimit=60\nsyncLimit=20\nmaxSessionTimeout=60000\n"
           << "maxClientCnxns=0\nadmin.enableServer=false\nclientPortAddress=127.0.0.1\n"
           << "clientPort=" << one.port << "\ndataDir=" << home.string() << '\n';
    for (std::size_t i = 0; members_.size() > 1 && i < members_.size(); ++i) {
        config << "server." << i + 1 << "=127.0.0.1:" << members_[i].peer_port << ':'
               << members_[i].election_port << '\n';
    }
    config.close();
    one.process.reset();
    one.process = std::make_unique<child_process>(process_options{
        .argv = {"java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
                 "-Dzookeeper.forceSync=no", "-Dznode.container.checkIntervalMs=1000",
                 "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                 "-Dzookeeper.jmx.log4j.disable=true", "-cp",
                 "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar",
                 "org.apache.zookeeper.server.quorum.QuorumPeerMain", (home / "zoo.cfg").string()},
        .output = home / "log"});
}

std::string zookeeper_ensemble::hosts() const {
    std::string all;
    for (const member& one : members_) {
        if (!all.empty()) all += ',';
        all += "127.0.0.1:" + std::to_string(one.port);
    }
    return all;
}

std::string zookeeper_ensemble::mode_of(std::size_t which) const {
    const int line = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(members_[which].port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::string text;
    if (::connect(line, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 &&
        ::send(line, "srvr", 4, MSG_NOSIGNAL) == 4) {
        std::array<char, 1024> part{};
        pollfd waits{line, POLLIN, 0};
        while (::poll(&waits, 1, 1000) == 1) {
            const ssize_t got = ::recv(line, part.data(), part.size(), 0);
            if (got <= 0) break;
            text.append(part.data(), static_cast<std::size_t>(got));
        }
    }
    ::close(line);
    const std::size_t mode = text.find("Mode: ");
    if (mode == std::string::npos) return {};
    return text.substr(mode + 6, text.find('\n', mode) - mode - 6);
}

void zookeeper_ensemble::wait_until_serving() {
    wait_for(
        "ZooKeeper to serve",
        [&] {
            for (std::size_t i = 0; i < members_.size(); ++i) {
                if (!members_[i].process->running()) {
                    throw std::runtime_error("it has ended: " + members_[i].process->log_tail());
                }
                if (mode_of(i).empty()) return false;
            }
            return true;
        },
        60s);
}

std::size_t zookeeper_ensemble::leader() {
    std::size_t found = 0;
    wait_for(
        "a leader",
        [&] {
            for (std::size_t i = 0; i < members_.size(); ++i) {
                found = i;
                const std::string mode = mode_of(i);
                if (mode == "leader" || mode == "standalone") return true;
            }
            return false;
        },
        30s);
    return found;
}

void zookeeper_ensemble::kill(std::size_t which) {
    members_[which].process->kill();
}

void zookeeper_ensemble::pause(std::size_t which) {
    members_[which].process->signal(SIGSTOP);
}

void zookeeper_ensemble::resume(std::size_t which) {
    members_[which].process->signal(SIGCONT);
}

_zhandle* zookeeper_ensemble::shell() {
    if (shell_ != nullptr && is_unrecoverable(shell_) == ZOK) return shell_;
    if (shell_ != nullptr) zookeeper_close(shell_);
    shell_ = zookeeper_init2(hosts().c_str(), no_watch, 30000, nullptr, nullptr,
                             ZOO_NO_LOG_CLIENTENV, no_log);
    return shell_;
}

std::vector<std::string> zookeeper_ensemble::children(const std::string& path) {
    std::vector<std::string> names;
    wait_for("the children of " + path, [&] {
        String_vector found{};
        const int rc = zoo_get_children(shell(), path.c_str(), 0, &found);
        if (rc == ZOK) {
            names.assign(found.data, found.data + found.count);
            deallocate_String_vector(&found);
        }
        return rc == ZOK || rc == ZNONODE;
    });
    return names;
}

std::string zookeeper_ensemble::data(const std::string& path) {
    std::string text(4096, '\0');
    wait_for("the data of " + path, [&] {
        auto length = static_cast<int>(text.size());
        if (zoo_get(shell(), path.c_str(), 0, text.data(), &length, nullptr) != ZOK) return false;
        text.resize(static_cast<std::size_t>(std::max(length, 0)));
        return true;
    });
    return text;
}

std::int64_t zookeeper_ensemble::session_of(const std::string& path) {
    Stat stat{};
    wait_for(path, [&] { return zoo_exists(shell(), path.c_str(), 0, &stat) == ZOK; });
    return stat.ephemeralOwner;
}

void zookeeper_ensemble::make(const std::string& path, const std::string& text) {
    wait_for("the node " + path, [&] {
        const int rc = zoo_create(shell(), path.c_str(), text.data(), static_cast<int>(text.size()),
                                  &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, nullptr, 0);
        return rc == ZOK || rc == ZNODEEXISTS;
    });
}

void zookeeper_ensemble::clear(const std::string& path) {
    for (const std::string& child : children(path)) remove(below(path, child));
}

void zookeeper_ensemble::remove(const std::string& path) {
    wait_for(path + " to be gone", [&] {
        clear(path);
        const int rc = zoo_delete(shell(), path.c_str(), -1);
        return rc == ZOK || rc == ZNONODE;
    });
}

}  // namespace holdfast::test
