// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/zookeeper/zookeeper_lease_store.hpp"

#include "support/asked_store.hpp"
#include "support/temporary_directory.hpp"
#include "support/zookeeper_server.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

/// What the cases about ZooKeeper stand on: an ensemble that they share, and stores on it.
namespace holdfast::test {

inline zookeeper_ensemble& shared_zookeeper() {
    static zookeeper_ensemble shared;
    return shared;
}

inline zookeeper::zookeeper_options zookeeper_at(std::initializer_list<std::uint16_t> ports) {
    zookeeper::zookeeper_options options;
    for (const std::uint16_t port : ports) options.servers.push_back({"127.0.0.1", port});
    return options;
}

inline zookeeper::zookeeper_options all_of_zookeeper() {
    return zookeeper_at(
        {shared_zookeeper().port(0), shared_zookeeper().port(1), shared_zookeeper().port(2)});
}

class zookeeper_store : public asked_store<zookeeper::zookeeper_lease_store> {
public:
    explicit zookeeper_store(zookeeper::zookeeper_options options = all_of_zookeeper())
        : asked_store(zookeeper::zookeeper_lease_store::make(std::move(options), system_clock())) {}
};

/// The nodes of a name, as an operator sees them.
inline std::vector<std::string> nodes_of(const std::string& name) {
    return shared_zookeeper().children("/holdfast/" + name);
}

/// A program that says "held" once it has a lock.
class holding_program {
public:
    explicit holding_program(std::vector<std::string> words)
        : process_({.argv = std::move(words), .output = output_.path() / "out"}) {}
    [[nodiscard]] bool holds() const {
        std::ifstream file(output_.path() / "out");
        const std::string said{std::istreambuf_iterator<char>(file), {}};
        return said.find("held") != std::string::npos;
    }
    child_process& process() { return process_; }

private:
    temporary_directory output_;
    child_process process_;
};

}  // namespace holdfast::test
