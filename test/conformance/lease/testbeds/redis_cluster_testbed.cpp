// SPDX-License-Identifier: Apache-2.0
#include "conformance/lease/testbeds/real_testbed.hpp"
#include "conformance/lease/testbeds/stored_names.hpp"
#include "lease/commands/command_lease_store.hpp"

#include "support/redis_cluster_group.hpp"

#include <holdfast/redis/redis_topology.hpp>

#include <algorithm>
#include <iterator>

namespace holdfast::test {
namespace {

/// A Cluster of six nodes, shared in the same way.
class cluster_testbed final : public real_testbed {
public:
    cluster_testbed() { on_masters("FLUSHALL"); }
    std::shared_ptr<lease_store> make_store() override {
        auto target = parse_redis_cluster_url(parse_url(group().url()).value()).value();
        std::shared_ptr<command_engine> engine = make_redis_cluster(std::move(target)).value();
        return std::make_shared<command_lease_store>(
            std::move(engine), system_entropy(), command_lease_options{.scope = key_scope::slot});
    }
    void forget(const std::string& name) override {
        const std::string key = "lock:" + name;
        group().owner_of(group().slot_of(key)).raw("DEL", key);
    }
    std::vector<std::string> leftovers() override {
        std::vector<std::string> all;
        for (const reply& one : on_masters("KEYS", "*"))
            std::ranges::copy(names_only(one), std::back_inserter(all));
        return all;
    }

private:
    static redis_cluster_group& group() {
        static redis_cluster_group shared;
        return shared;
    }
    template <class... Words>
    static std::vector<reply> on_masters(const Words&... words) {
        std::vector<reply> answers;
        for (const auto& node : group().nodes()) {
            if (node->raw("ROLE").elements()[0].text() != "master") continue;
            answers.push_back(node->raw(words...));
        }
        return answers;
    }
};

const offered_testbed on_cluster{"cluster", [] { return std::make_unique<cluster_testbed>(); }};

}  // namespace
}  // namespace holdfast::test
