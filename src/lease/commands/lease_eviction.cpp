// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/lease_eviction.hpp"

#include <array>
#include <string>
#include <vector>

namespace holdfast {
namespace {

const script& evict_script() {
    static const script body{
#include "scripts/evict.inc"
    };
    return body;
}

const script& evictions_script() {
    static const script body{
#include "scripts/evictions.inc"
    };
    return body;
}

}  // namespace

result<std::uint32_t> evict_holder(command_engine& engine, const command_lease_options& options,
                                   const lock_name& name, std::string_view reason,
                                   std::string_view channels, time_point give_up) {
    detail::text_arena room;
    const lease_keys keys = keys_of(room, options.prefix, name, options.scope);
    std::vector<std::string_view> names{keys.lock,    keys.line,  keys.waiters, keys.fence,
                                        keys.holders, keys.limit, keys.evicted};
    std::vector<std::string_view> args{reason, channels};
    const std::string window = std::to_string(to_ms(options.quarantine));
    if (options.careful()) {
        names.push_back(keys.boot);
        args.push_back(window);
    }
    const auto done = engine.evaluate(evict_script(), names, args, give_up);
    if (!done) return std::unexpected(done.error());
    return static_cast<std::uint32_t>(done->number());
}

result<std::vector<eviction_info>> list_evictions(command_engine& engine,
                                                  const command_lease_options& options,
                                                  const lock_name& name, time_point give_up) {
    detail::text_arena room;
    const lease_keys keys = keys_of(room, options.prefix, name, options.scope);
    const std::array<std::string_view, 1> names{keys.evicted};
    const auto told = engine.evaluate(evictions_script(), names, {}, give_up, repeat::idempotent);
    if (!told) return std::unexpected(told.error());
    std::vector<eviction_info> found;
    const auto& parts = told->elements();
    for (std::size_t i = 0; i + 2 <= parts.size(); i += 2) {
        found.push_back({parts[i].text(), parts[i + 1].text()});
    }
    return found;
}

}  // namespace holdfast
