// SPDX-License-Identifier: Apache-2.0
//
// What is about the connection itself: CLIENT, HELLO, AUTH, SUBSCRIBE and the like.
//
// A name is a connection's own, in the process too. The rest is carried out by the server through
// which the client came (src/resp); inside the process there is none, and it is refused. The names
// are known all the same, so that a script that tries hears that it may not, as from Redis.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/connection.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::memory {
namespace {

void set_name(call& c) {
    const std::string_view name = c.arg(2);
    if (!std::ranges::all_of(name, [](char ch) { return ch >= '!' && ch <= '~'; })) {
        refuse("ERR Client names cannot contain spaces, newlines or special characters.");
    }
    c.from.name = name;
    c.out.ok();
}

void client_id(call& c) {
    c.out.integer(static_cast<std::int64_t>(c.from.id));
}

void get_name(call& c) {
    c.from.name.empty() ? c.out.nil() : c.out.string(c.from.name);
}

void at_server(call& c) {
    if (c.from.server != nullptr) return c.from.server->run(c);
    refuse(fmt::format("ERR '{}' is about connections, and this engine is in the process itself",
                       c.spec->name));
}

void subscribe_at_server(call& c) {
    if (c.from.server != nullptr) return c.from.server->run(c);
    refuse(fmt::format("ERR '{}' is not a command of this engine: call subscribe()", c.spec->name));
}

constexpr command_spec client_parts[] = {
    {"client|id", 2, no_script, client_id},       {"client|getname", 2, no_script, get_name},
    {"client|setname", 3, no_script, set_name},   {"client|getredir", 2, no_script, at_server},
    {"client|info", 2, no_script, at_server},     {"client|kill", -3, no_script, at_server},
    {"client|list", -2, no_script, at_server},    {"client|no-evict", 3, no_script, at_server},
    {"client|no-touch", 3, no_script, at_server}, {"client|reply", 3, no_script, at_server},
    {"client|setinfo", 4, no_script, at_server},  {"client|unblock", -3, no_script, at_server},
};

constexpr std::uint16_t subscribing = no_script | no_multi;

constexpr command_spec connection_table[] = {
    {"client", -2, no_script, nullptr, client_parts},
    {"auth", -2, no_script | fast_path, at_server},
    {"hello", -1, no_script | fast_path | no_multi, at_server},
    {"quit", -1, no_script | at_once, at_server},
    {"reset", 1, no_script | at_once, at_server},
    {"monitor", 1, subscribing, at_server},
    {"subscribe", -2, subscribing, subscribe_at_server},
    {"unsubscribe", -1, subscribing, subscribe_at_server},
    {"psubscribe", -2, subscribing, subscribe_at_server},
    {"punsubscribe", -1, subscribing, subscribe_at_server},
    {"ssubscribe", -2, subscribing, subscribe_at_server},
    {"sunsubscribe", -1, subscribing, subscribe_at_server},
    {"holdfast.advance", 2, no_script | no_multi, at_server},
};

}  // namespace

std::span<const command_spec> connection_commands() {
    return connection_table;
}

}  // namespace holdfast::memory
