// SPDX-License-Identifier: Apache-2.0
#include "conformance/lease/testbed.hpp"
#include "conformance/lease/testbeds/stored_names.hpp"
#include "driver/memory/memory_engine.hpp"
#include "lease/commands/command_lease_store.hpp"
#include "lease/quorum/quorum_lease_store.hpp"

#include <holdfast/virtual_clock.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <thread>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

/// A quorum of five embedded engines, on one virtual clock. It also goes on by itself, slowly: who
/// met another in the middle of asking comes back by chance and by time.
class quorum_testbed final : public testbed {
public:
    quorum_testbed() {
        for (auto& engine : engines_) {
            engine = make_memory_engine({.time = &clock_, .chance = &system_entropy()});
        }
    }
    std::shared_ptr<lease_store> make_store() override {
        std::vector<quorum_node> nodes;
        for (const auto& engine : engines_) {
            nodes.push_back({"node" + std::to_string(nodes.size()),
                             std::make_shared<command_lease_store>(engine, system_entropy())});
        }
        // These nodes never fail: a machine that is busy must not look like that.
        return std::make_shared<quorum_lease_store>(std::move(nodes), clock_, system_entropy(),
                                                    quorum_options{.node_timeout = 10s});
    }
    clock& time() override { return clock_; }
    void pass(duration d) override { clock_.advance(d); }
    [[nodiscard]] duration ttl() const override { return 30s; }
    void forget(const std::string& name) override { run(words("DEL", "lock:" + name)); }
    // A node that was still subscribing for a waiter is told a moment later that it has gone.
    std::vector<std::string> leftovers() override {
        std::vector<std::string> all;
        for (int look = 0; look < 100 && (look == 0 || !all.empty()); ++look) {
            // style: allow clock, because that is another thread's work
            if (look > 0) std::this_thread::sleep_for(1ms);
            all.clear();
            for (const reply& keys : run(words("KEYS", "*"))) {
                std::ranges::copy(names_only(keys), std::back_inserter(all));
            }
        }
        return without_repeats(std::move(all));
    }

private:
    std::vector<reply> run(const command& c) {
        std::vector<reply> answers;
        for (const auto& engine : engines_) {
            answers.push_back(engine->execute(c, clock_.now() + 1s).value());
        }
        return answers;
    }

    virtual_clock clock_;
    std::array<std::shared_ptr<command_engine>, 5> engines_;
    std::jthread ticking_{[this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            // style: allow clock, because something must make virtual time go on
            std::this_thread::sleep_for(1ms);
            clock_.advance(1ms);
        }
    }};
};

const offered_testbed on_quorum{"quorum", [] { return std::make_unique<quorum_testbed>(); }};

}  // namespace
}  // namespace holdfast::test
