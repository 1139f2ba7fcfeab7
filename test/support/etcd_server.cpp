// SPDX-License-Identifier: Apache-2.0
#include "support/etcd_server.hpp"

#include "support/free_port.hpp"
#include "support/wait_for.hpp"

#include <signal.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

std::string at_port(const std::string& scheme, std::uint16_t port) {
    return scheme + "127.0.0.1:" + std::to_string(port);
}

}  // namespace

etcd_cluster::etcd_cluster(etcd_cluster_options options) : options_(std::move(options)) {
    members_.resize(options_.members);
    for (member& one : members_) {
        one.port = free_port();
        one.peer_port = free_port();
    }
    for (std::size_t i = 0; i < members_.size(); ++i) start(i);
    wait_until_healthy();
}

void etcd_cluster::start(std::size_t which) {
    std::string all;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        all += (i == 0 ? "e" : ",e") + std::to_string(i) + "=" +
               at_port("http://", members_[i].peer_port);
    }
    member& one = members_[which];
    const std::string name = "e" + std::to_string(which);
    const std::string clients = at_port(options_.tls == nullptr ? "http://" : "https://", one.port);
    std::vector<std::string> words{
        "etcd",
        "--name=" + name,
        "--data-dir=" + (directory() / name).string(),
        "--listen-client-urls=" + clients,
        "--advertise-client-urls=" + clients,
        "--listen-peer-urls=" + at_port("http://", one.peer_port),
        "--initial-advertise-peer-urls=" + at_port("http://", one.peer_port),
        "--initial-cluster=" + all,
        "--heartbeat-interval=50",
        "--election-timeout=500",
        "--logger=zap",
        "--log-level=warn"};
    if (options_.tls != nullptr) {
        words.push_back("--cert-file=" + options_.tls->server_certificate().string());
        words.push_back("--key-file=" + options_.tls->server_key().string());
        words.push_back("--trusted-ca-file=" + options_.tls->ca_certificate().string());
        words.emplace_back("--client-cert-auth");
    }
    words.insert(words.end(), options_.flags.begin(), options_.flags.end());
    one.process.reset();
    one.process = std::make_unique<child_process>(
        process_options{.argv = words, .output = directory() / (name + ".log")});
}

std::string etcd_cluster::endpoints() const {
    std::string all;
    for (const member& one : members_) {
        if (!all.empty()) all += ',';
        all += at_port("", one.port);
    }
    return all;
}

std::string etcd_cluster::url() const {
    return (options_.tls == nullptr ? "etcd://" : "etcds://") + endpoints();
}

std::vector<std::string> etcd_cluster::ctl_words(const std::vector<std::string>& words) const {
    std::vector<std::string> all{"etcdctl", "--endpoints=" + endpoints()};
    if (options_.tls != nullptr) {
        all.push_back("--cacert=" + options_.tls->ca_certificate().string());
        all.push_back("--cert=" + options_.tls->client_certificate().string());
        all.push_back("--key=" + options_.tls->client_key().string());
    }
    all.insert(all.end(), words.begin(), words.end());
    return all;
}

std::vector<std::string> etcd_cluster::ctl(std::vector<std::string> words) {
    const auto out = directory() / "ctl.out";
    std::filesystem::remove(out);
    run_to_success({.argv = ctl_words(words), .output = out, .environment = {"ETCDCTL_API=3"}});
    std::ifstream file(out);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

// One that answers a write has a leader. The server says more than it must while it starts.
void etcd_cluster::wait_until_healthy() {
    wait_for(
        "etcd to answer",
        [&] {
            try {
                ctl({"endpoint", "health"});
                return true;
            } catch (const std::runtime_error&) {
                for (member& one : members_) {
                    if (!one.process->running()) {
                        throw std::runtime_error("etcd has ended: " + one.process->log_tail());
                    }
                }
                return false;
            }
        },
        30s);
}

std::size_t etcd_cluster::leader() {
    std::size_t found = members_.size();
    wait_for(
        "a leader",
        [&] {
            for (std::size_t i = 0; i < members_.size(); ++i) {
                try {
                    const auto lines = ctl({"endpoint", "status", "--endpoints",
                                            at_port("", members_[i].port), "-w", "fields"});
                    std::string member;
                    std::string leader;
                    for (const std::string& line : lines) {
                        std::istringstream words(line);
                        std::string key;
                        std::string colon;
                        std::string value;
                        if (line.starts_with("\"MemberID\"")) words >> key >> colon >> member;
                        if (line.starts_with("\"Leader\"")) words >> key >> colon >> leader;
                    }
                    if (!member.empty() && member == leader) {
                        found = i;
                        return true;
                    }
                } catch (const std::runtime_error&) {  // that one is down
                }
            }
            return false;
        },
        20s);
    return found;
}

void etcd_cluster::kill(std::size_t which) {
    members_[which].process->kill();
}

void etcd_cluster::pause(std::size_t which) {
    members_[which].process->signal(SIGSTOP);
}

void etcd_cluster::resume(std::size_t which) {
    members_[which].process->signal(SIGCONT);
}

}  // namespace holdfast::test
