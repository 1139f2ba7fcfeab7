// SPDX-License-Identifier: Apache-2.0
#include "conformance/lease/testbeds/real_testbed.hpp"
#include "conformance/lease/testbeds/stored_names.hpp"
#include "driver/memory/memory_engine.hpp"
#include "lease/commands/command_lease_store.hpp"
#include "resp/resp_server.hpp"

#include <holdfast/redis/redis_topology.hpp>

#include <fmt/format.h>

namespace holdfast::test {
namespace {

/// The embedded engine behind its own server, through our own Redis client.
class served_memory_testbed final : public real_testbed {
public:
    std::shared_ptr<lease_store> make_store() override {
        auto target = parse_redis_url(fmt::format("redis://127.0.0.1:{}", server_->port())).value();
        target.options.on_connect_commands.push_back(raise_fence_command());
        std::shared_ptr<command_engine> engine = make_redis(std::move(target)).value();
        return std::make_shared<command_lease_store>(std::move(engine), system_entropy());
    }
    void forget(const std::string& name) override { run(words("DEL", "lock:" + name)); }
    std::vector<std::string> leftovers() override { return names_only(run(words("KEYS", "*"))); }

private:
    reply run(const command& c) {
        return engine_->execute(c, system_clock().now() + std::chrono::seconds(5)).value();
    }

    std::shared_ptr<command_engine> engine_ =
        make_memory_engine({.time = &system_clock(), .chance = &system_entropy()});
    std::unique_ptr<resp_server> server_ = resp_server::start(engine_).value();
};

const offered_testbed on_served_memory{"served_memory",
                                       [] { return std::make_unique<served_memory_testbed>(); }};

}  // namespace
}  // namespace holdfast::test
