// SPDX-License-Identifier: Apache-2.0
#include "conformance/lease/testbed.hpp"
#include "engine/memory/memory_engine.hpp"
#include "engine/redis/command_lease_store.hpp"

#include "support/redis_server.hpp"

#include <holdfast/redis.hpp>
#include <holdfast/virtual_clock.hpp>

#include <thread>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> all_but_the_fence(const reply& keys) {
    std::vector<std::string> rest;
    for (const reply& key : keys.elements()) {
        if (key.text() != "holdfast:fence") rest.push_back(key.text());
    }
    return rest;
}

class memory_testbed final : public testbed {
public:
    std::shared_ptr<lease_store> make_store() override {
        return std::make_shared<command_lease_store>(engine_, system_entropy());
    }
    clock& time() override { return clock_; }
    void pass(duration d) override { clock_.advance(d); }
    [[nodiscard]] duration ttl() const override { return 30s; }
    void forget(const std::string& name) override { run(words("DEL", "lock:" + name)); }
    std::vector<std::string> leftovers() override {
        return all_but_the_fence(run(words("KEYS", "*")));
    }

private:
    reply run(const command& c) { return engine_->execute(c, clock_.now() + 1s).value(); }

    virtual_clock clock_;
    std::shared_ptr<command_engine> engine_ =
        make_memory_engine({.time = &clock_, .chance = &system_entropy()});
};

/// A redis-server of the test's own, by the real client and in real time.
class redis_testbed final : public testbed {
public:
    std::shared_ptr<lease_store> make_store() override {
        auto target = parse_redis_url(server_.url()).value();
        target.options.on_connect_commands.push_back(raise_fence_command());
        std::shared_ptr<command_engine> engine = make_redis(std::move(target)).value();
        return std::make_shared<command_lease_store>(std::move(engine), system_entropy());
    }
    clock& time() override { return system_clock(); }
    void pass(duration d) override { std::this_thread::sleep_for(d); }
    [[nodiscard]] duration ttl() const override { return 1500ms; }
    void forget(const std::string& name) override { server_.raw("DEL", "lock:" + name); }
    std::vector<std::string> leftovers() override { return all_but_the_fence(server_.raw("KEYS", "*")); }

private:
    redis_server server_;
};

}  // namespace

std::vector<lease_engine> lease_engines() {
    return {
        {"memory", [] { return std::make_unique<memory_testbed>(); }},
        {"redis", [] { return std::make_unique<redis_testbed>(); }},
    };
}

}  // namespace holdfast::test
