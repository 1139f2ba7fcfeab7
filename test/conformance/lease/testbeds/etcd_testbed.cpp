// SPDX-License-Identifier: Apache-2.0
#include "conformance/lease/testbeds/real_testbed.hpp"
#include "driver/etcd/etcd_lease_store.hpp"

#include "support/etcd_server.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

/// One etcd server, which all cases of a process share; each begins with nothing stored.
class etcd_testbed final : public real_testbed {
public:
    etcd_testbed() { server().ctl({"del", "--prefix", "holdfast"}); }
    std::shared_ptr<lease_store> make_store() override {
        etcd::etcd_options options;
        options.servers = {{"127.0.0.1", server().port(0)}};
        return etcd::etcd_lease_store::make(std::move(options), system_clock()).value();
    }
    [[nodiscard]] duration ttl() const override { return 2s; }
    [[nodiscard]] duration late() const override { return 2s; }
    [[nodiscard]] bool serves_by_entry() const override { return true; }
    [[nodiscard]] std::size_t many() const override { return 200; }
    void forget(const std::string& name) override {
        server().ctl({"del", "--prefix", "holdfast/" + name + "/"});
    }
    std::vector<std::string> leftovers() override {
        return server().ctl({"get", "--prefix", "--keys-only", "holdfast/"});
    }

private:
    static etcd_cluster& server() {
        static etcd_cluster shared;
        return shared;
    }
};

const offered_testbed on_etcd{"etcd", [] { return std::make_unique<etcd_testbed>(); }};

}  // namespace
}  // namespace holdfast::test
