// SPDX-License-Identifier: Apache-2.0
#include "conformance/lease/testbeds/real_testbed.hpp"
#include "conformance/lease/testbeds/stored_names.hpp"
#include "lease/commands/command_lease_store.hpp"

#include "support/redis_sentinel_group.hpp"

#include <holdfast/redis/redis_topology.hpp>

namespace holdfast::test {
namespace {

/// The master behind three sentinels. The group takes seconds to start, so all cases of a process
/// share it, one after the other; each begins with nothing stored.
class sentinel_testbed final : public real_testbed {
public:
    sentinel_testbed() { group().master().raw("FLUSHALL"); }
    std::shared_ptr<lease_store> make_store() override {
        auto target = parse_redis_sentinel_url(parse_url(group().url()).value()).value();
        target.options.on_connect_commands.push_back(raise_fence_command());
        std::shared_ptr<command_engine> engine = make_redis_sentinel(std::move(target)).value();
        return std::make_shared<command_lease_store>(std::move(engine), system_entropy());
    }
    void forget(const std::string& name) override { group().master().raw("DEL", "lock:" + name); }
    std::vector<std::string> leftovers() override {
        return names_only(group().master().raw("KEYS", "*"));
    }

private:
    static redis_sentinel_group& group() {
        static redis_sentinel_group shared;
        return shared;
    }
};

const offered_testbed on_sentinel{"sentinel", [] { return std::make_unique<sentinel_testbed>(); }};

}  // namespace
}  // namespace holdfast::test
