// SPDX-License-Identifier: Apache-2.0
//
// CONFIG: the settings that a program may look for. Two of them can be changed, those of the bound
// on memory; the others are as they are, and setting one to what it is already is fine.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/engine_core.hpp"
#include "driver/memory/glob.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::memory {
namespace {

struct setting {
    std::string_view name;
    std::string (*get)(const engine_core&);
    /// Null: it cannot be changed. False: no such value.
    bool (*set)(engine_core&, std::string_view) = nullptr;
};

template <char... Text>
std::string fixed_setting(const engine_core&) {
    return {Text...};
}

bool set_max_memory(engine_core& core, std::string_view text) {
    const auto bytes = parse_memory_amount(text);
    if (bytes) core.bound_memory(*bytes, core.eviction());
    return bytes.has_value();
}

bool set_policy(engine_core& core, std::string_view text) {
    const auto policy = eviction_policy_named(text);
    if (policy) core.bound_memory(core.most_bytes(), *policy);
    return policy.has_value();
}

constexpr setting all_settings[] = {
    {"appendonly", fixed_setting<'n', 'o'>},
    {"databases", fixed_setting<'1'>},
    {"maxmemory", [](const engine_core& core) { return std::to_string(core.most_bytes()); },
     set_max_memory},
    {"maxmemory-policy",
     [](const engine_core& core) { return std::string(name_of(core.eviction())); }, set_policy},
    {"notify-keyspace-events", fixed_setting<>},
    {"save", fixed_setting<>},
};

void config_get(call& c) {
    std::vector<const setting*> found;
    for (const setting& s : all_settings) {
        for (std::size_t i = 2; i < c.count(); ++i) {
            if (!glob_match(c.arg(i), s.name)) continue;
            found.push_back(&s);
            break;
        }
    }
    c.out.map(found.size());
    for (const setting* s : found) {
        c.out.string(s->name);
        c.out.string(s->get(c.core));
    }
}

const setting& setting_named(std::string_view name) {
    const auto found =
        std::ranges::find_if(all_settings, [&](const setting& s) { return is_word(name, s.name); });
    if (found == std::end(all_settings)) {
        refuse(fmt::format("ERR Unknown option or number of arguments for CONFIG SET - '{}'",
                           printed(name, 128)));
    }
    return *found;
}

[[noreturn]] void refuse_setting(const setting& s, std::string_view why) {
    refuse(
        fmt::format("ERR CONFIG SET failed (possibly related to argument '{}') - {}", s.name, why));
}

// All names are looked at first, so that a name that is not known changes nothing.
void config_set(call& c) {
    if (c.count() % 2 != 0) refuse_arity("config|set");
    for (std::size_t i = 2; i < c.count(); i += 2) (void)setting_named(c.arg(i));
    for (std::size_t i = 2; i < c.count(); i += 2) {
        const setting& s = setting_named(c.arg(i));
        if (s.set == nullptr) {
            if (s.get(c.core) != c.arg(i + 1)) refuse_setting(s, "can't set immutable config");
        } else if (!s.set(c.core, c.arg(i + 1))) {
            refuse_setting(s, s.name == "maxmemory"
                                  ? "argument must be a memory value"
                                  : "argument(s) must be one of the following: noeviction, "
                                    "allkeys-lru, allkeys-lfu, allkeys-random, volatile-lru, "
                                    "volatile-lfu, volatile-random, volatile-ttl");
        }
    }
    c.out.ok();
}

void config_resetstat(call& c) {
    c.core.stats().commands = c.core.stats().errors = 0;
    c.out.ok();
}

void config_rewrite(call& /*c*/) {
    refuse("ERR The server is running without a config file");
}

constexpr command_spec config_parts[] = {
    {"config|get", -3, no_script, config_get},
    {"config|set", -4, no_script, config_set},
    {"config|resetstat", 2, no_script, config_resetstat},
    {"config|rewrite", 2, no_script, config_rewrite},
};

constexpr command_spec config_table[] = {{"config", -2, no_script, nullptr, config_parts}};

}  // namespace

std::span<const command_spec> config_commands() {
    return config_table;
}

}  // namespace holdfast::memory
