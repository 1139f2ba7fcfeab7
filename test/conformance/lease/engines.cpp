// SPDX-License-Identifier: Apache-2.0
#include "conformance/lease/testbed.hpp"
#include "driver/memory/memory_engine.hpp"
#include "driver/sqlite/sqlite_connection.hpp"
#include "lease/commands/command_lease_store.hpp"
#include "lease/quorum/quorum_lease_store.hpp"
#include "lease/tables/sql_lease_store.hpp"

#include "support/redis_cluster_group.hpp"
#include "support/redis_sentinel_group.hpp"
#include "support/redis_server.hpp"
#include "support/run_sql.hpp"
#include "support/temporary_directory.hpp"

#include <holdfast/redis/redis_topology.hpp>
#include <holdfast/virtual_clock.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <thread>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> names_only(const reply& keys) {
    std::vector<std::string> rest;
    for (const reply& key : keys.elements()) {
        if (!is_shared_key(key.text())) rest.push_back(key.text());
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
    [[nodiscard]] std::size_t many() const override { return sanitized ? 2'000 : 10'000; }
    void forget(const std::string& name) override { run(words("DEL", "lock:" + name)); }
    std::vector<std::string> leftovers() override { return names_only(run(words("KEYS", "*"))); }

private:
    reply run(const command& c) { return engine_->execute(c, clock_.now() + 1s).value(); }

    virtual_clock clock_;
    std::shared_ptr<command_engine> engine_ =
        make_memory_engine({.time = &clock_, .chance = &system_entropy()});
};

/// A file, in virtual time: the database reads the clock that its stores were given.
class sqlite_testbed final : public testbed {
public:
    std::shared_ptr<lease_store> make_store() override { return store_on_file(); }
    clock& time() override { return clock_; }
    void pass(duration d) override { clock_.advance(d); }
    [[nodiscard]] duration ttl() const override { return 30s; }
    void forget(const std::string& name) override {
        let_fences_pass();
        run("DELETE FROM holdfast_names WHERE name = '" + name + "'");
        run("DELETE FROM holdfast_parties WHERE name = '" + name + "'");
    }
    /// What is over is swept by the way, a little at a time; here all at once.
    std::vector<std::string> leftovers() override {
        let_fences_pass();
        if (!store_on_file()->sweep_all(clock_.now() + 5s)) return {"(not swept)"};
        auto names = run("SELECT name FROM holdfast_names");
        std::ranges::copy(run("SELECT name FROM holdfast_parties"), std::back_inserter(names));
        return names;
    }

private:
    std::shared_ptr<sql::sql_lease_store> store_on_file() {
        return std::make_shared<sql::sql_lease_store>(
            std::make_unique<sqlite::sqlite_connection>(
                sqlite::sqlite_options{.path = folder_.path() / "leases.db"}, clock_),
            clock_);
    }
    /// A row stays until the clock has passed its fences, some microseconds. Virtual time stands
    /// still until it is told.
    void let_fences_pass() { clock_.advance(5ms); }
    /// The first column of what another program reads or does in the file.
    std::vector<std::string> run(const std::string& text) {
        return run_sql(folder_.path() / "leases.db", text);
    }

    temporary_directory folder_;
    virtual_clock clock_;
};

/// A real server, in real time.
class real_testbed : public testbed {
public:
    clock& time() override { return system_clock(); }
    // style: allow clock, because the time of a real server can only be waited for
    void pass(duration d) override { std::this_thread::sleep_for(d); }
    [[nodiscard]] duration ttl() const override { return 1500ms; }
};

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

std::vector<std::string> without_repeats(std::vector<std::string> all) {
    std::ranges::sort(all);
    const auto rest = std::ranges::unique(all);
    all.erase(rest.begin(), rest.end());
    return all;
}

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
        return std::make_shared<quorum_lease_store>(std::move(nodes), clock_, system_entropy());
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

}  // namespace

std::vector<lease_engine> lease_engines() {
    return {
        {"memory", [] { return std::make_unique<memory_testbed>(); }},
        {"sqlite", [] { return std::make_unique<sqlite_testbed>(); }},
        {"redis", [] { return std::make_unique<redis_testbed>(); }},
        {"quorum", [] { return std::make_unique<quorum_testbed>(); }},
        {"redlock", [] { return std::make_unique<redlock_testbed>(); }},
        {"sentinel", [] { return std::make_unique<sentinel_testbed>(); }},
        {"cluster", [] { return std::make_unique<cluster_testbed>(); }},
    };
}

}  // namespace holdfast::test
