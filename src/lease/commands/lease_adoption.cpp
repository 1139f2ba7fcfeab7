// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/lease_adoption.hpp"

#include <array>
#include <string>

namespace holdfast {
namespace {

const script& adopt_script() {
    static const script body{
#include "scripts/adopt.inc"
    };
    return body;
}

}  // namespace

result<lease_reply> adopt_lease(command_engine& engine, const command_lease_options& options,
                                const lease_adoption& asked, time_point give_up) {
    detail::text_arena room;
    const lease_keys keys = keys_of(room, options.prefix, asked.name, options.scope);
    const std::array<std::string_view, 3> names{keys.lock, keys.evicted, keys.holders};
    const std::string ttl = std::to_string(to_ms(asked.ttl));
    const std::array<std::string_view, 3> args{asked.from.value(), asked.to.value(), ttl};
    const auto said = engine.evaluate(adopt_script(), names, args, give_up, repeat::idempotent);
    if (!said) return std::unexpected(said.error());
    if (said->type() == reply::kind::string) return answer::lost{said->text()};
    if (said->number() == code::adopted) return answer::renewed{asked.ttl};
    return answer::lost{};
}

}  // namespace holdfast
