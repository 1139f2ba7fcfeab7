// SPDX-License-Identifier: Apache-2.0
#include "conformance/lease/testbeds/real_testbed.hpp"
#include "conformance/lease/testbeds/stored_names.hpp"
#include "lease/commands/command_lease_store.hpp"

#include "support/redis_server.hpp"

#include <holdfast/redis/redis_topology.hpp>

namespace holdfast::test {
namespace {

/// A redis-server of the test's own.
class redis_testbed final : public real_testbed {
public:
    std::shared_ptr<lease_store> make_store() override {
        auto target = parse_redis_url(server_.url()).value();
        target.options.on_connect_commands.push_back(raise_fence_command());
        std::shared_ptr<command_engine> engine = make_redis(std::move(target)).value();
        return std::make_shared<command_lease_store>(std::move(engine), system_entropy());
    }
    void forget(const std::string& name) override { server_.raw("DEL", "lock:" + name); }
    std::vector<std::string> leftovers() override { return names_only(server_.raw("KEYS", "*")); }

private:
    redis_server server_;
};

const offered_testbed on_redis{"redis", [] { return std::make_unique<redis_testbed>(); }};

}  // namespace
}  // namespace holdfast::test
