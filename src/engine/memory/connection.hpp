// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/memory/keyspace.hpp"
#include "engine/memory/list_end.hpp"

#include <holdfast/reply.hpp>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// What a server would remember of one client: its transaction, its watched keys, what it waits
/// for.
namespace holdfast::memory {

struct command_spec;

/// A client that waits for an element of a list.
struct list_wait {
    std::vector<std::string> keys;
    list_end from = list_end::left;
    struct target {
        std::string key;
        list_end end;
    };
    std::optional<target> move_to;   ///< BLMOVE; otherwise the element goes to the client.
    std::int64_t timeout_ms = 0;     ///< 0: for ever.
    std::optional<reply> answer;     ///< Set by whoever serves it.
    std::condition_variable served;  ///< Waited on with the engine's mutex.
};

struct connection {
    struct queued_command {
        const command_spec* spec;
        std::vector<std::string> words;
    };
    struct watched_key {
        std::string key;
        bool existed;
    };

    std::uint64_t id = 0;
    std::string name;

    bool may_block = false;  ///< A session, not in MULTI and not in a script.
    bool in_multi = false;
    bool multi_failed = false;  ///< A command was refused while queueing.
    bool executing = false;     ///< Inside EXEC or a script.
    std::vector<queued_command> queued;
    std::size_t queued_words = 0;

    watcher changes;
    std::vector<watched_key> watched;

    std::unique_ptr<list_wait> waiting;  ///< Set by a command that has to wait.

    void end_transaction() {
        in_multi = multi_failed = false;
        queued.clear();
        queued_words = 0;
    }
};

}  // namespace holdfast::memory
