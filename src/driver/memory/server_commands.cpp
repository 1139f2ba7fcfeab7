// SPDX-License-Identifier: Apache-2.0
//
// What is said about the engine itself: PING, TIME, INFO and the like. Enough for a program that
// looks whether its server is well.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/engine_core.hpp"

#include <holdfast/version.hpp>

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

namespace holdfast::memory {
namespace {

void ping(call& c) {
    if (c.count() > 2) refuse_arity("ping");
    c.count() == 1 ? c.out.status("PONG") : c.out.string(c.arg(1));
}

void echo(call& c) {
    c.out.string(c.arg(1));
}

void time(call& c) {
    number_text room;
    c.out.array(2);
    c.out.string(format_integer(c.core.now_us() / 1'000'000, room));
    c.out.string(format_integer(c.core.now_us() % 1'000'000, room));
}

void select(call& c) {
    const std::int64_t index = c.integer(1);
    if (index != 0) refuse("ERR DB index is out of range");
    c.out.ok();
}

void wait(call& c) {
    static_cast<void>(c.integer(1));
    if (c.integer(2, "ERR timeout is not an integer or out of range") < 0) {
        refuse("ERR timeout is negative");
    }
    c.out.integer(0);
}

void role(call& c) {
    c.out.array(3);
    c.out.string("master");
    c.out.integer(0);
    c.out.array(0);
}

std::string info_server(call& c) {
    // As Redis counts: by whole seconds of the clock, so up to a second more than have passed.
    constexpr std::int64_t second = 1'000'000;
    const std::int64_t up = c.core.now_us() / second - c.core.started_us() / second;
    return fmt::format(
        "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nholdfast_version:{}\r\n"
        "process_id:{}\r\nrun_id:{}\r\nserver_time_usec:{}\r\nuptime_in_seconds:{}\r\n"
        "uptime_in_days:{}\r\n",
        version, ::getpid(), c.core.run_id(), c.core.now_us(), up, up / 86400);
}

std::string info_clients(call& c) {
    return fmt::format("# Clients\r\nconnected_clients:{}\r\n", c.core.stats().sessions);
}

// The allocator's own count for the whole process, because the engine shares the heap with its
// program; under a bound, what is counted against it.
std::string info_memory(call& c) {
    const auto heap = ::mallinfo2();
    const std::size_t used = c.core.most_bytes() == 0 ? heap.uordblks + heap.hblkhd : c.db.bytes();
    return fmt::format(
        "# Memory\r\nused_memory:{}\r\nused_memory_lua:{}\r\nmaxmemory:{}\r\n"
        "maxmemory_policy:{}\r\n",
        used, c.core.scripts().memory_used(), c.core.most_bytes(), name_of(c.core.eviction()));
}

std::string info_stats(call& c) {
    return fmt::format(
        "# Stats\r\ntotal_commands_processed:{}\r\nexpired_keys:{}\r\nevicted_keys:{}\r\n"
        "pubsub_channels:{}\r\npubsub_patterns:{}\r\ntotal_error_replies:{}\r\n",
        c.core.stats().commands, c.db.expired_total(), c.db.evicted_total(),
        c.core.hub().channels(channel_scope::global).size(), c.core.hub().patterns(),
        c.core.stats().errors);
}

std::string info_replication(call& c) {
    return fmt::format(
        "# Replication\r\nrole:master\r\nconnected_slaves:0\r\nmaster_replid:{}\r\n"
        "master_replid2:{}\r\nmaster_repl_offset:0\r\n",
        c.core.replication_id(), c.core.replication_before());
}

std::string info_keyspace(call& c) {
    std::string text = "# Keyspace\r\n";
    if (c.db.size() > 0) {
        text += fmt::format("db0:keys={},expires={},avg_ttl=0\r\n", c.db.size(), c.db.expiring());
    }
    return text;
}

struct info_section {
    std::string_view name;
    std::string (*write)(call&);
};

constexpr info_section sections[] = {
    {"server", info_server}, {"clients", info_clients},         {"memory", info_memory},
    {"stats", info_stats},   {"replication", info_replication}, {"keyspace", info_keyspace},
};

void info(call& c) {
    std::string text;
    for (const info_section& s : sections) {
        bool wanted = c.count() == 1;
        for (std::size_t i = 1; i < c.count(); ++i) {
            wanted |=
                c.is(i, s.name) || c.is(i, "all") || c.is(i, "default") || c.is(i, "everything");
        }
        if (!wanted) continue;
        if (!text.empty()) text += "\r\n";
        text += s.write(c);
    }
    c.out.string(text);
}

constexpr command_spec server_table[] = {
    {"ping", -1, fast_path, ping}, {"echo", 2, fast_path, echo},
    {"time", 1, fast_path, time},  {"select", 2, fast_path, select},
    {"wait", 3, no_script, wait},  {"role", 1, no_script | fast_path, role},
    {"info", -1, 0, info},
};

}  // namespace

std::span<const command_spec> server_commands() {
    return server_table;
}

}  // namespace holdfast::memory
