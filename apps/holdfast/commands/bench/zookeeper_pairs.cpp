// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/zookeeper_pairs.hpp"

#include "commands/bench/pair_threads.hpp"
#include "open/zookeeper_url.hpp"

#include <fmt/format.h>

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

namespace holdfast::bench {
namespace {

struct handle_closer {
    void operator()(zhandle_t* handle) const { zookeeper_close(handle); }
};
using plain_handle = std::unique_ptr<zhandle_t, handle_closer>;

constexpr int session_ms = 30'000;

void hear_nothing(zhandle_t*, int, int, const char*, void*) {}
void say_nothing(const char*) {}

plain_handle connect_plainly(const zookeeper::zookeeper_options& options) {
    std::string servers;
    for (const zookeeper::zookeeper_endpoint& at : options.servers) {
        servers += fmt::format("{}{}:{}", servers.empty() ? "" : ",", at.host, at.port);
    }
    plain_handle handle(zookeeper_init2(servers.c_str(), hear_nothing, session_ms, nullptr, nullptr,
                                        ZOO_NO_LOG_CLIENTENV, say_nothing));
    if (handle && !options.user.empty()) {
        const std::string secret = options.user + ":" + options.password;
        zoo_add_auth(handle.get(), "digest", secret.data(), static_cast<int>(secret.size()),
                     nullptr, nullptr);
    }
    return handle;
}

// Whether ours is the first. The path of a node ends in its number.
bool is_first(zhandle_t* handle, const std::string& directory, std::string_view path) {
    String_vector found{};
    if (zoo_get_children(handle, directory.c_str(), 0, &found) != ZOK) return false;
    const auto number = [](std::string_view node) { return node.substr(node.size() - 10); };
    const bool first = std::all_of(found.data, found.data + found.count, [&](const char* other) {
        return number(path) <= number(other);
    });
    deallocate_String_vector(&found);
    return first;
}

void pairs_by_hand_in_zookeeper(const zookeeper::zookeeper_options& options, int id,
                                worker_log& log, turns& mine) {
    const plain_handle handle = connect_plainly(options);
    if (!handle) return log.failed("the servers cannot be found");
    const std::string directory = fmt::format("{}.bench-{}", options.root, id);
    int rc = ZCONNECTIONLOSS;
    for (int i = 0; i < 100 && rc == ZCONNECTIONLOSS; ++i) {
        rc = zoo_create(handle.get(), directory.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE,
                        ZOO_PERSISTENT, nullptr, 0);
    }
    if (rc != ZOK && rc != ZNODEEXISTS) return log.failed(zerror(rc));
    const std::string prefix = directory + "/lock-";
    std::array<char, 1024> path{};
    while (const auto start = mine.next()) {
        rc = zoo_create(handle.get(), prefix.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE,
                        ZOO_EPHEMERAL_SEQUENTIAL, path.data(), static_cast<int>(path.size()));
        if (rc != ZOK) return log.failed(zerror(rc));
        if (!is_first(handle.get(), directory, path.data())) {
            return log.failed("somebody else has the lock");
        }
        const time_point got = system_clock().now();
        rc = zoo_delete(handle.get(), path.data(), -1);
        if (rc != ZOK) return log.failed(zerror(rc));
        log.time(got - *start, system_clock().now() - got);
    }
    zoo_delete(handle.get(), directory.c_str(), -1);
}

}  // namespace

result<pairs_result> pairs_by_zookeeper(const std::string& url, const pairs_options& options) {
    const auto where = parse_url(url);
    if (!where) return std::unexpected(where.error());
    const auto read = detail::read_zookeeper_url(*where);
    if (!read) return std::unexpected(read.error());
    return on_threads("ZooKeeper by hand", options, [&](int id, worker_log& log, turns& mine) {
        pairs_by_hand_in_zookeeper(*read, id, log, mine);
    });
}

}  // namespace holdfast::bench
