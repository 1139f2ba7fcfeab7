// SPDX-License-Identifier: Apache-2.0
#include "engine/redis/lease_eviction.hpp"

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

}  // namespace

result<std::uint32_t> evict_holder(command_engine& engine, const command_lease_options& options,
                                   const lock_name& name, std::string_view reason,
                                   std::string_view channels, time_point give_up) {
    const lease_keys keys = keys_of(options.prefix, name, options.scope);
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

}  // namespace holdfast
