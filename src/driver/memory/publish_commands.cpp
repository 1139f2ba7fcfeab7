// SPDX-License-Identifier: Apache-2.0
//
// PUBLISH and PUBSUB. Subscribing is not a command here (see command_engine::subscribe); its names
// are known all the same, so that a script that tries hears that it may not, as from Redis.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/engine_core.hpp"
#include "driver/memory/glob.hpp"

#include <fmt/format.h>

namespace holdfast::memory {
namespace {

void publish(call& c) {
    c.out.integer(static_cast<std::int64_t>(c.core.hub().post(c.arg(1), c.arg(2))));
}

void answer_channels(call& c) {
    if (c.count() > 3) {
        refuse(
            fmt::format("ERR unknown subcommand or wrong number of arguments for '{}'. Try "
                        "PUBSUB HELP.",
                        c.arg(1)));
    }
    std::vector<std::string> names = c.core.hub().channels();
    if (c.count() == 3) {
        std::erase_if(names, [&](const std::string& n) { return !glob_match(c.arg(2), n); });
    }
    c.out.array(names.size());
    for (const std::string& name : names) c.out.string(name);
}

void answer_counts(call& c) {
    c.out.array((c.count() - 2) * 2);
    for (std::size_t i = 2; i < c.count(); ++i) {
        c.out.string(c.arg(i));
        c.out.integer(static_cast<std::int64_t>(c.core.hub().receivers(c.arg(i))));
    }
}

void answer_no_patterns(call& c) {
    c.out.integer(0);
}

constexpr command_spec pubsub_parts[] = {
    {"pubsub|channels", -2, 0, answer_channels}, {"pubsub|shardchannels", -2, 0, answer_channels},
    {"pubsub|numsub", -2, 0, answer_counts},     {"pubsub|shardnumsub", -2, 0, answer_counts},
    {"pubsub|numpat", 2, 0, answer_no_patterns},
};

void refuse_subscribing(call& c) {
    refuse(fmt::format("ERR '{}' is not a command of this engine: call subscribe()", c.spec->name));
}

constexpr command_spec publish_table[] = {
    {"publish", 3, fast_path, publish},
    {"spublish", 3, fast_path, publish},
    {"pubsub", -2, 0, nullptr, pubsub_parts},
    {"subscribe", -2, no_script, refuse_subscribing},
    {"unsubscribe", -1, no_script, refuse_subscribing},
    {"psubscribe", -2, no_script, refuse_subscribing},
    {"punsubscribe", -1, no_script, refuse_subscribing},
    {"ssubscribe", -2, no_script, refuse_subscribing},
    {"sunsubscribe", -1, no_script, refuse_subscribing},
};

}  // namespace

std::span<const command_spec> publish_commands() {
    return publish_table;
}

}  // namespace holdfast::memory
