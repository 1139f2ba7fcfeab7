// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/memory_engine.hpp"
#include "driver/sqlite/sqlite_commands.hpp"
#include "support/redis_cluster_group.hpp"
#include "support/redis_sentinel_group.hpp"
#include "support/redis_server.hpp"
#include "support/temporary_directory.hpp"
#include "traffic/traffic_ground.hpp"

#ifdef HOLDFAST_HAS_ETCD_COMMANDS
#include "driver/etcd/etcd_commands.hpp"
#include "support/etcd_server.hpp"
#endif

#include <holdfast/redis/redis.hpp>
#include <holdfast/virtual_clock.hpp>

#include <thread>

namespace holdfast::test {
namespace {

class memory_ground final : public traffic_ground {
public:
    std::shared_ptr<command_engine> engine() override { return engine_; }
    void pass(duration d) override { time_.advance(d); }

private:
    virtual_clock time_;
    std::shared_ptr<command_engine> engine_ = make_memory_engine({.time = &time_});
};

class sqlite_ground final : public traffic_ground {
public:
    std::shared_ptr<command_engine> engine() override { return engine_; }
    [[nodiscard]] bool has_messages() const override { return false; }
    void pass(duration d) override {
        time_.advance(d);
        // style: allow clock, because a file takes real time, which virtual time must not outrun
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }

private:
    temporary_directory folder_;
    virtual_clock time_;
    std::shared_ptr<command_engine> engine_ =
        sqlite::make_sqlite_commands({.path = folder_.path() / "keys.db"}, time_, system_entropy());
};

class server_ground : public traffic_ground {
public:
    explicit server_ground(std::shared_ptr<command_engine> engine) : engine_(std::move(engine)) {}
    std::shared_ptr<command_engine> engine() override { return engine_; }
    // style: allow clock, because the time of a real server can only be waited for
    void pass(duration d) override { std::this_thread::sleep_for(d); }

private:
    std::shared_ptr<command_engine> engine_;
};

std::unique_ptr<traffic_ground> on_redis(const std::string& url) {
    return std::make_unique<server_ground>(open_redis(url).value());
}

#ifdef HOLDFAST_HAS_ETCD_COMMANDS
class etcd_ground final : public server_ground {
public:
    using server_ground::server_ground;
    [[nodiscard]] bool has_messages() const override { return false; }
};

std::unique_ptr<traffic_ground> on_etcd() {
    static etcd_cluster server;
    etcd::etcd_options options;
    options.servers = {{"127.0.0.1", server.port(0)}};
    return std::make_unique<etcd_ground>(
        etcd::make_etcd_commands(std::move(options), system_clock(), system_entropy()).value());
}
#endif

}  // namespace

// Servers are started by the first case and ended with the program.
std::vector<traffic_engine> traffic_engines() {
    return {
        {"memory", [] { return std::make_unique<memory_ground>(); }},
        {"sqlite", [] { return std::make_unique<sqlite_ground>(); }},
        {"redis",
         [] {
             static redis_server server;
             return on_redis(server.url());
         }},
        {"redis_sentinel",
         [] {
             static redis_sentinel_group servers;
             return on_redis(servers.url());
         }},
        {"redis_cluster",
         [] {
             static redis_cluster_group servers;
             return on_redis(servers.url());
         }},
#ifdef HOLDFAST_HAS_ETCD_COMMANDS
        {"etcd", on_etcd},
#endif
    };
}

}  // namespace holdfast::test
