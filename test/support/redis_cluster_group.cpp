// SPDX-License-Identifier: Apache-2.0
#include "support/redis_cluster_group.hpp"

#include "support/wait_for.hpp"

#include <stdexcept>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

bool is_whole(redis_server& node, std::size_t nodes) {
    const std::string info = node.raw("CLUSTER", "INFO").text();
    const auto says = [&](const std::string& line) {
        return info.find(line + "\r\n") != info.npos;
    };
    return says("cluster_state:ok") && says("cluster_slots_assigned:16384") &&
           says("cluster_known_nodes:" + std::to_string(nodes)) && says("cluster_size:3");
}

void demand_ok(const reply& answer, const char* doing) {
    if (answer.is_error()) throw std::runtime_error(std::string(doing) + ": " + answer.text());
}

}  // namespace

redis_cluster_group::redis_cluster_group(const redis_options& each,
                                         std::chrono::milliseconds node_timeout)
    : authority_(each.tls != nullptr ? "rediss-cluster://" : "redis-cluster://") {
    if (!each.password.empty()) authority_ += ":" + each.password + "@";
    std::vector<std::string> create{"redis-cli", "--cluster", "create"};
    for (int i = 0; i < 6; ++i) {
        redis_options options = each;
        auto& words = options.arguments;
        words.insert(words.end(),
                     {"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
                      "--cluster-node-timeout", std::to_string(node_timeout.count()),
                      "--repl-diskless-sync-delay", "0"});
        if (!each.password.empty()) words.insert(words.end(), {"--masterauth", each.password});
        if (each.tls != nullptr) {
            words.insert(words.end(), {"--tls-cluster", "yes", "--tls-replication", "yes"});
        }
        nodes_.push_back(std::make_unique<redis_server>(std::move(options)));
        create.push_back("127.0.0.1:" + std::to_string(nodes_.back()->port()));
    }
    create.insert(create.end(), {"--cluster-replicas", "1", "--cluster-yes"});
    if (!each.password.empty()) create.insert(create.end(), {"-a", each.password});
    if (each.tls != nullptr) {
        create.insert(create.end(), {"--tls", "--cacert", each.tls->ca_certificate()});
    }
    run_to_success({.argv = create, .output = nodes_.front()->directory() / "create.log"});
    await_ready();
}

void redis_cluster_group::await_ready() {
    for (auto& node : nodes_) {
        if (!node->running()) continue;
        wait_for(
            "cluster_state:ok at node " + std::to_string(node->port()),
            [&] { return is_whole(*node, nodes_.size()); }, 30s);
        wait_for(
            "replicas of the cluster in sync at node " + std::to_string(node->port()),
            [&] {
                const std::string info = node->raw("INFO", "replication").text();
                return info.find("role:master") != info.npos ||
                       info.find("master_link_status:up") != info.npos;
            },
            30s);
    }
}

std::vector<std::uint16_t> redis_cluster_group::ports() const {
    std::vector<std::uint16_t> list;
    for (const auto& node : nodes_) list.push_back(node->port());
    return list;
}

std::string redis_cluster_group::url() const {
    std::string text = authority_;
    for (const auto& node : nodes_) {
        if (node != nodes_.front()) text += ',';
        text += "127.0.0.1:" + std::to_string(node->port());
    }
    return text;
}

std::uint16_t redis_cluster_group::slot_of(std::string_view key) {
    return static_cast<std::uint16_t>(nodes_.front()->raw("CLUSTER", "KEYSLOT", key).number());
}

// CLUSTER SLOTS: [[first, last, [ip, port, id, …], …], …]. 0 when nobody serves the slot.
std::uint16_t redis_cluster_group::owner_port(redis_server& by, std::uint16_t slot) {
    const reply slots = by.raw("CLUSTER", "SLOTS");
    for (const reply& range : slots.elements()) {
        const auto& parts = range.elements();
        if (parts.size() < 3 || slot < parts[0].number() || slot > parts[1].number()) continue;
        return static_cast<std::uint16_t>(parts[2].elements().at(1).number());
    }
    return 0;
}

redis_server& redis_cluster_group::owner_of(std::uint16_t slot) {
    for (auto& by : nodes_) {
        if (!by->running()) continue;
        const std::uint16_t port = owner_port(*by, slot);
        for (auto& node : nodes_) {
            if (node->port() == port) return *node;
        }
    }
    throw std::runtime_error("no node serves slot " + std::to_string(slot));
}

redis_server& redis_cluster_group::stranger_to(std::uint16_t slot) {
    const std::uint16_t owner = owner_of(slot).port();
    for (auto& node : nodes_) {
        if (!node->running() || node->port() == owner) continue;
        if (node->raw("ROLE").elements().at(0).text() == "master") return *node;
    }
    throw std::runtime_error("no second master is running");
}

void redis_cluster_group::begin_slot_move(std::uint16_t slot, redis_server& to) {
    redis_server& from = owner_of(slot);
    const std::string from_id = from.raw("CLUSTER", "MYID").text();
    const std::string to_id = to.raw("CLUSTER", "MYID").text();
    demand_ok(to.raw("CLUSTER", "SETSLOT", slot, "IMPORTING", from_id), "SETSLOT IMPORTING");
    demand_ok(from.raw("CLUSTER", "SETSLOT", slot, "MIGRATING", to_id), "SETSLOT MIGRATING");
}

void redis_cluster_group::finish_slot_move(std::uint16_t slot, redis_server& to) {
    redis_server& from = owner_of(slot);
    const std::string to_id = to.raw("CLUSTER", "MYID").text();
    for (;;) {
        const reply keys = from.raw("CLUSTER", "GETKEYSINSLOT", slot, 100);
        if (keys.elements().empty()) break;
        for (const reply& key : keys.elements()) {
            demand_ok(from.raw("MIGRATE", "127.0.0.1", to.port(), key.text(), 0, 5000), "MIGRATE");
        }
    }
    demand_ok(to.raw("CLUSTER", "SETSLOT", slot, "NODE", to_id), "SETSLOT NODE at the new owner");
    demand_ok(from.raw("CLUSTER", "SETSLOT", slot, "NODE", to_id), "SETSLOT NODE at the old owner");
    for (auto& node : nodes_) {
        if (!node->running()) continue;
        wait_for(
            "node " + std::to_string(node->port()) + " to know the slot's new owner",
            [&] { return owner_port(*node, slot) == to.port(); }, 20s);
    }
}

void redis_cluster_group::move_slot(std::uint16_t slot, redis_server& to) {
    begin_slot_move(slot, to);
    finish_slot_move(slot, to);
}

}  // namespace holdfast::test
