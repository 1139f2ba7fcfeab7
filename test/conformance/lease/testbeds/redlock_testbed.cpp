// SPDX-License-Identifier: Apache-2.0
#include "conformance/lease/testbeds/real_testbed.hpp"
#include "conformance/lease/testbeds/stored_names.hpp"
#include "lease/commands/command_lease_store.hpp"
#include "lease/quorum/quorum_lease_store.hpp"

#include "support/redis_server.hpp"

#include <holdfast/redis/redis_topology.hpp>

#include <algorithm>
#include <array>
#include <iterator>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

/// A quorum of five servers, which all cases of a process share.
class redlock_testbed final : public real_testbed {
public:
    redlock_testbed() {
        for (auto& server : servers()) server.raw("FLUSHALL");
    }
    std::shared_ptr<lease_store> make_store() override {
        std::vector<quorum_node> nodes;
        for (const auto& server : servers()) {
            auto target = parse_redis_url(server.url()).value();
            target.options.on_connect_commands.push_back(raise_fence_command());
            std::shared_ptr<command_engine> engine = make_redis(std::move(target)).value();
            nodes.push_back({server.url(), std::make_shared<command_lease_store>(
                                               std::move(engine), system_entropy())});
        }
        return std::make_shared<quorum_lease_store>(std::move(nodes), system_clock(),
                                                    system_entropy());
    }
    void forget(const std::string& name) override {
        for (auto& server : servers()) server.raw("DEL", "lock:" + name);
    }
    // A release is answered by the majority; the others have heard of it a moment later.
    std::vector<std::string> leftovers() override {
        std::vector<std::string> all;
        for (int look = 0; look < 100 && (look == 0 || !all.empty()); ++look) {
            if (look > 0) pass(5ms);
            all.clear();
            for (auto& server : servers()) {
                std::ranges::copy(names_only(server.raw("KEYS", "*")), std::back_inserter(all));
            }
        }
        return without_repeats(std::move(all));
    }

private:
    static std::array<redis_server, 5>& servers() {
        static std::array<redis_server, 5> shared;
        return shared;
    }
};

const offered_testbed on_redlock{"redlock", [] { return std::make_unique<redlock_testbed>(); }};

}  // namespace
}  // namespace holdfast::test
