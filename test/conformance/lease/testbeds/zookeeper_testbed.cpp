// SPDX-License-Identifier: Apache-2.0
#include "conformance/lease/testbeds/real_testbed.hpp"
#include "driver/zookeeper/zookeeper_lease_store.hpp"

#include "support/zookeeper_server.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

/// Three servers, which all cases of a process share; each begins with nothing stored.
class zookeeper_testbed final : public real_testbed {
public:
    zookeeper_testbed() {
        servers().clear("/holdfast");
        servers().clear("/holdfast.evicted");
    }
    std::shared_ptr<lease_store> make_store() override {
        zookeeper::zookeeper_options options;
        for (std::size_t i = 0; i < servers().size(); ++i) {
            options.servers.push_back({"127.0.0.1", servers().port(i)});
        }
        return zookeeper::zookeeper_lease_store::make(std::move(options), system_clock());
    }
    [[nodiscard]] duration ttl() const override { return 1500ms; }
    [[nodiscard]] duration late() const override { return 1s; }
    [[nodiscard]] bool serves_by_entry() const override { return true; }
    [[nodiscard]] std::size_t many() const override { return 200; }
    void forget(const std::string& name) override { servers().clear("/holdfast/" + name); }
    std::vector<std::string> leftovers() override {
        std::vector<std::string> all;
        for (const std::string& name : servers().children("/holdfast")) {
            for (const std::string& entry : servers().children("/holdfast/" + name)) {
                all.push_back(name + "/" + entry);
            }
        }
        return all;
    }

private:
    static zookeeper_ensemble& servers() {
        static zookeeper_ensemble shared;
        return shared;
    }
};

const offered_testbed on_zookeeper{"zookeeper",
                                   [] { return std::make_unique<zookeeper_testbed>(); }};

}  // namespace
}  // namespace holdfast::test
