// SPDX-License-Identifier: Apache-2.0
#include "conformance/lease/testbed.hpp"
#include "conformance/lease/testbeds/stored_names.hpp"
#include "driver/memory/memory_engine.hpp"
#include "lease/commands/command_lease_store.hpp"

#include <holdfast/virtual_clock.hpp>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class memory_testbed final : public testbed {
public:
    std::shared_ptr<lease_store> make_store() override {
        return std::make_shared<command_lease_store>(engine_, system_entropy());
    }
    clock& time() override { return clock_; }
    void pass(duration d) override { clock_.advance(d); }
    [[nodiscard]] duration ttl() const override { return 30s; }
    [[nodiscard]] std::size_t many() const override { return sanitized ? 2'000 : 10'000; }
    void forget(const std::string& name) override { run(words("DEL", "lock:" + name)); }
    std::vector<std::string> leftovers() override { return names_only(run(words("KEYS", "*"))); }

private:
    reply run(const command& c) { return engine_->execute(c, clock_.now() + 1s).value(); }

    virtual_clock clock_;
    std::shared_ptr<command_engine> engine_ =
        make_memory_engine({.time = &clock_, .chance = &system_entropy()});
};

const offered_testbed on_memory{"memory", [] { return std::make_unique<memory_testbed>(); }};

}  // namespace
}  // namespace holdfast::test
