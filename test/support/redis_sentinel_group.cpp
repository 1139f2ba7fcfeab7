// SPDX-License-Identifier: Apache-2.0
#include "support/redis_sentinel_group.hpp"

#include "support/free_port.hpp"
#include "support/wait_for.hpp"

#include <fstream>
#include <stdexcept>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

// INFO's "slaves=2" and "sentinels=3" in the line of the master.
bool sees_everyone(redis_server& sentinel) {
    const std::string info = sentinel.raw("INFO", "sentinel").text();
    return info.find("status=ok") != info.npos && info.find("slaves=2") != info.npos &&
           info.find("sentinels=3") != info.npos;
}

bool is_master(redis_server& server) {
    const reply role = server.raw("ROLE");
    return !role.elements().empty() && role.elements().front().text() == "master";
}

bool is_linked_replica(redis_server& server) {
    return server.raw("INFO", "replication").text().find("master_link_status:up") !=
           std::string::npos;
}

}  // namespace

redis_sentinel_group::redis_sentinel_group(const sentinel_options& options)
    : authority_(options.server.tls != nullptr ? "rediss-sentinel://" : "redis-sentinel://") {
    if (!options.server.password.empty()) authority_ += ":" + options.server.password + "@";
    for (int i = 0; i < 3; ++i) {
        redis_options each = options.server;
        if (!each.password.empty()) {
            each.arguments.insert(each.arguments.end(), {"--masterauth", each.password});
        }
        if (each.tls != nullptr) {
            each.arguments.insert(each.arguments.end(), {"--tls-replication", "yes"});
        }
        if (i > 0) each.replica_of = servers_.front()->port();
        servers_.push_back(std::make_unique<redis_server>(std::move(each)));
    }
    // A replica that the sentinels hear of before it is in sync would be unfit for a failover.
    for (int i : {1, 2}) {
        wait_for(
            "replica " + std::to_string(i) + " in sync",
            [&] { return is_linked_replica(*servers_[static_cast<std::size_t>(i)]); }, 20s);
    }
    const std::string watched =
        master_name() + " 127.0.0.1 " + std::to_string(servers_.front()->port()) + " 2";
    const std::string down_after = master_name() + " " + std::to_string(options.down_after.count());
    for (int i = 0; i < 3; ++i) {
        redis_options each = options.sentinel;
        each.configuration = {"sentinel monitor " + watched,
                              "sentinel down-after-milliseconds " + down_after,
                              "sentinel failover-timeout " + master_name() + " 3000",
                              "sentinel parallel-syncs " + master_name() + " 2"};
        if (!options.server.password.empty()) {
            each.configuration.push_back("sentinel auth-pass " + master_name() + " " +
                                         options.server.password);
        }
        if (!each.password.empty()) {
            each.configuration.push_back("sentinel sentinel-pass " + each.password);
        }
        each.arguments.emplace_back("--sentinel");
        if (each.tls != nullptr) {
            each.arguments.insert(each.arguments.end(), {"--tls-replication", "yes"});
        }
        sentinels_.push_back(std::make_unique<redis_server>(std::move(each)));
    }
    for (auto& s : sentinels_) {
        wait_for(
            "sentinel " + std::to_string(s->port()) + " to see 2 replicas and 3 sentinels",
            [&] { return sees_everyone(*s); }, 90s);
    }
}

std::string redis_sentinel_group::url() const {
    std::string text = authority_;
    for (const auto& s : sentinels_) {
        if (s != sentinels_.front()) text += ',';
        text += "127.0.0.1:" + std::to_string(s->port());
    }
    return text + "/" + master_name();
}

std::uint16_t redis_sentinel_group::master_port_by(redis_server& sentinel) {
    const reply address = sentinel.raw("SENTINEL", "get-master-addr-by-name", master_name());
    if (address.elements().size() != 2) {
        throw std::runtime_error("sentinel names no master: " + to_string(address));
    }
    return static_cast<std::uint16_t>(std::stoi(address.elements()[1].text()));
}

std::uint16_t redis_sentinel_group::master_port() {
    for (auto& s : sentinels_) {
        if (s->running()) return master_port_by(*s);
    }
    throw std::runtime_error("no sentinel is running");
}

redis_server& redis_sentinel_group::master() {
    const std::uint16_t port = master_port();
    for (auto& s : servers_) {
        if (s->port() == port) return *s;
    }
    throw std::runtime_error("the sentinels name a foreign master: port " + std::to_string(port));
}

void redis_sentinel_group::failover() {
    const std::uint16_t old = master_port();
    reply answer;
    // A sentinel refuses while an earlier failover is still under way.
    wait_for(
        "a sentinel that starts a failover",
        [&] {
            answer = sentinels_.front()->raw("SENTINEL", "FAILOVER", master_name());
            if (answer.is_error()) throw std::runtime_error(answer.text());
            return true;
        },
        90s);
    await_master_other_than(old);
}

void redis_sentinel_group::await_master_other_than(std::uint16_t old,
                                                   std::chrono::milliseconds at_most) {
    wait_for(
        "another master than " + std::to_string(old),
        [&] {
            for (auto& s : sentinels_) {
                if (s->running() && master_port_by(*s) == old) return false;
            }
            return is_master(master());
        },
        at_most);
}

}  // namespace holdfast::test
