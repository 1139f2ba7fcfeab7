// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/keyspace.hpp"

#include <holdfast/engine/reply.hpp>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// What a server would remember of one client: its transaction, its watched keys, what it waits
/// for.
namespace holdfast::memory {

struct call;
struct command_spec;

class engine_core;

/// The server through which a client came: it carries out what is about connections.
class server_side {
public:
    virtual ~server_side() = default;
    virtual void run(call& c) = 0;
};

/// A client that waits for a key to have something for it.
struct key_wait {
    key_wait() = default;
    key_wait(const key_wait&) = delete;
    key_wait& operator=(const key_wait&) = delete;
    virtual ~key_wait() = default;

    /// Takes what the key has for it; nothing if it has to wait on.
    [[nodiscard]] virtual std::optional<reply> serve(engine_core& core, key_node& source) = 0;

    std::vector<std::string> keys;
    std::int64_t timeout_ms = 0;      ///< 0: for ever.
    std::optional<reply> answer;      ///< Set by whoever serves it.
    std::condition_variable served;   ///< Waited on with the engine's mutex.
    std::function<void()> on_served;  ///< Called when it is answered, with that mutex held.
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
    server_side* server = nullptr;  ///< Null inside the process.

    bool may_block = false;  ///< A session, not in MULTI and not in a script.
    bool in_multi = false;
    bool multi_failed = false;  ///< A command was refused while queueing.
    bool executing = false;     ///< Inside EXEC or a script.
    std::vector<queued_command> queued;
    std::size_t queued_words = 0;
    std::size_t queued_bytes = 0;

    watcher changes;
    std::vector<watched_key> watched;

    std::unique_ptr<key_wait> waiting;  ///< Set by a command that has to wait.

    void end_transaction() {
        in_multi = multi_failed = false;
        queued.clear();
        queued_words = queued_bytes = 0;
    }
};

}  // namespace holdfast::memory
