// SPDX-License-Identifier: Apache-2.0
//
// memory: is an engine of one's own; memory:NAME is the one that everybody in this process shares
// who opens the same NAME. A shared one lives as long as somebody has it open; its bound on memory
// is that of whoever opened it first.
#include "driver/memory/memory_engine.hpp"
#include "lease/commands/command_lease_store.hpp"
#include "open/engines.hpp"
#include "open/url_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

struct memory_bound {
    std::size_t bytes = 0;
    memory::eviction_policy policy = memory::eviction_policy::noeviction;
};

// ?maxmemory=64mb&eviction=allkeys-lru
result<memory_bound> take_bound(url& where) {
    memory_bound bound;
    if (const auto text = take_option(where, "maxmemory")) {
        const auto bytes = memory::parse_memory_amount(*text);
        if (!bytes) return wrong_option("maxmemory", "an amount of memory, such as 64mb");
        bound.bytes = *bytes;
    }
    if (const auto text = take_option(where, "eviction")) {
        const auto policy = memory::eviction_policy_named(*text);
        if (!policy) {
            return wrong_option(
                "eviction", fmt::format("{}", fmt::join(memory::eviction_policy_names(), ", ")));
        }
        bound.policy = *policy;
    }
    return bound;
}

result<std::shared_ptr<command_engine>> engine_for(const std::string& name,
                                                   const client_options& options,
                                                   const memory_bound& bound) {
    const auto make = [&] {
        return make_memory_engine({.time = options.time,
                                   .chance = options.chance,
                                   .max_memory = bound.bytes,
                                   .eviction = bound.policy});
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
    url rest = where;
    const auto bound = take_bound(rest);
    if (!bound) return std::unexpected(bound.error());
    constexpr std::string_view known[] = {"maxmemory", "eviction"};
    if (const auto fit = only_options(rest, known); !fit) return std::unexpected(fit.error());
    auto engine = engine_for(where.path, options, *bound);
    if (!engine) return std::unexpected(std::move(engine.error()));
    return opened_engine{std::make_shared<command_lease_store>(*engine, *options.chance), *engine};
}

}  // namespace holdfast::detail
