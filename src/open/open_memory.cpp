// SPDX-License-Identifier: Apache-2.0
//
// memory: is an engine of one's own; memory:NAME is the one that everybody in this process shares
// who opens the same NAME. A shared one lives as long as somebody has it open.
#include "driver/memory/memory_engine.hpp"
#include "lease/commands/command_lease_store.hpp"
#include "open/engines.hpp"
#include "open/url_options.hpp"

#include <map>
#include <mutex>
#include <string>

namespace holdfast::detail {
namespace {

struct shared_engines {
    std::mutex mutex;
    std::map<std::string, std::weak_ptr<command_engine>> by_name;
};

shared_engines& registry() {
    static shared_engines all;
    return all;
}

result<std::shared_ptr<command_engine>> engine_for(const std::string& name,
                                                   const client_options& options) {
    const auto make = [&] {
        return make_memory_engine({.time = options.time, .chance = options.chance});
    };
    if (name.empty()) return make();
    auto& all = registry();
    const std::scoped_lock guard(all.mutex);
    std::erase_if(all.by_name, [](const auto& entry) { return entry.second.expired(); });
    auto& known = all.by_name[name];
    auto engine = known.lock();
    if (engine == nullptr) {
        engine = make();
        known = engine;
    } else if (&engine->time() != options.time) {
        return fail(errc::invalid_argument,
                    "engine URL: memory:" + name + " is open already, on another clock");
    }
    return engine;
}

}  // namespace

result<opened_engine> open_memory(const url& where, const client_options& options) {
    if (!where.hosts.empty() || where.user || where.password) {
        return fail(errc::invalid_argument,
                    "engine URL: memory: has no server; write memory: or memory:NAME");
    }
    if (const auto fit = only_options(where, {}); !fit) return std::unexpected(fit.error());
    auto engine = engine_for(where.path, options);
    if (!engine) return std::unexpected(std::move(engine.error()));
    return opened_engine{std::make_shared<command_lease_store>(*engine, *options.chance), *engine};
}

}  // namespace holdfast::detail
