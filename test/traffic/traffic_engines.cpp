// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/memory_engine.hpp"
#include "driver/sqlite/sqlite_commands.hpp"
#include "support/redis_cluster_group.hpp"
#include "support/redis_sentinel_group.hpp"
#include "support/redis_server.hpp"
#include "support/temporary_directory.hpp"
#include "traffic/traffic_ground.hpp"

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

class redis_ground final : public traffic_ground {
public:
    explicit redis_ground(const std::string& url) : engine_(open_redis(url).value()) {}
    std::shared_ptr<command_engine> engine() override { return engine_; }
    // style: allow clock, because the time of a real server can only be waited for
    void pass(duration d) override { std::this_thread::sleep_for(d); }

private:
    std::shared_ptr<command_engine> engine_;
};

}  // namespace

// Servers are started by the first case and ended with the program.
std::vector<traffic_engine> traffic_engines() {
    return {
        {"memory", [] { return std::make_unique<memory_ground>(); }},
        {"sqlite", [] { return std::make_unique<sqlite_ground>(); }},
        {"redis",
         [] {
             static redis_server server;
             return std::make_unique<redis_ground>(server.url());
         }},
        {"redis_sentinel",
         [] {
             static redis_sentinel_group servers;
             return std::make_unique<redis_ground>(servers.url());
         }},
        {"redis_cluster",
         [] {
             static redis_cluster_group servers;
             return std::make_unique<redis_ground>(servers.url());
         }},
    };
}

}  // namespace holdfast::test
