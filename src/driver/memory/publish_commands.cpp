// SPDX-License-Identifier: Apache-2.0
//
// PUBLISH and PUBSUB. Subscribing is a matter of connections: connection_commands.cpp.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/engine_core.hpp"
#include "driver/memory/glob.hpp"

#include <fmt/format.h>

namespace holdfast::memory {
namespace {

template <channel_scope Scope>
void publish(call& c) {
    c.out.integer(static_cast<std::int64_t>(c.core.hub().post(c.arg(1), c.arg(2), Scope)));
}

template <channel_scope Scope>
void answer_channels(call& c) {
    if (c.count() > 3) {
        refuse(
            fmt::format("ERR unknown subcommand or wrong number of arguments for '{}'. Try "
                        "PUBSUB HELP.",
                        c.arg(1)));
    }
    std::vector<std::string> names = c.core.hub().channels(Scope);
    if (c.count() == 3) {
        std::erase_if(names, [&](const std::string& n) { return !glob_match(c.arg(2), n); });
    }
    c.out.array(names.size());
    for (const std::string& name : names) c.out.string(name);
}

template <channel_scope Scope>
void answer_counts(call& c) {
    c.out.map(c.count() - 2);
    for (std::size_t i = 2; i < c.count(); ++i) {
        c.out.string(c.arg(i));
        c.out.integer(static_cast<std::int64_t>(c.core.hub().receivers(c.arg(i), Scope)));
    }
}

void answer_patterns(call& c) {
    c.out.integer(static_cast<std::int64_t>(c.core.hub().patterns()));
}

constexpr auto plain = channel_scope::global;
constexpr auto shard = channel_scope::sharded;

constexpr command_spec pubsub_parts[] = {
    {"pubsub|channels", -2, 0, answer_channels<plain>},
    {"pubsub|shardchannels", -2, 0, answer_channels<shard>},
    {"pubsub|numsub", -2, 0, answer_counts<plain>},
    {"pubsub|shardnumsub", -2, 0, answer_counts<shard>},
    {"pubsub|numpat", 2, 0, answer_patterns},
};

constexpr command_spec publish_table[] = {
    {"publish", 3, fast_path, publish<plain>},
    {"spublish", 3, fast_path, publish<shard>},
    {"pubsub", -2, 0, nullptr, pubsub_parts},
};

}  // namespace

std::span<const command_spec> publish_commands() {
    return publish_table;
}

}  // namespace holdfast::memory
