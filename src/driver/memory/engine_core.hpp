// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/command_table.hpp"
#include "driver/memory/connection.hpp"
#include "driver/memory/keyspace.hpp"
#include "driver/memory/lua_host.hpp"
#include "driver/memory/message_hub.hpp"
#include "driver/memory/sink.hpp"

#include "driver/memory/memory_engine.hpp"

#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// The engine's state, and how one command is carried out on it.
///
/// Time is read once per command that a caller gives (`begin`): a script or a transaction is one
/// such command, so it sees one time, and keys expire only between commands. Each command also
/// removes a few keys whose time has passed: more than a plain command can add. What a script or a
/// transaction adds beyond that is removed over the commands that follow.
///
/// Under a bound on memory, each command first makes room as the policy says; what is still too
/// much makes commands that need memory fail.
///
/// Requires: mutex() is held around everything but hub().
namespace holdfast::memory {

/// What a server says that has no memory left.
inline constexpr std::string_view no_memory =
    "OOM command not allowed when used memory > 'maxmemory'.";

class engine_core {
public:
    explicit engine_core(const memory_options& options);

    [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }
    [[nodiscard]] clock& time() const noexcept { return time_; }
    [[nodiscard]] entropy& chance() const noexcept { return chance_; }
    [[nodiscard]] keyspace& db() noexcept { return db_; }
    [[nodiscard]] message_hub& hub() noexcept { return hub_; }
    [[nodiscard]] lua_host& scripts() noexcept { return scripts_; }
    [[nodiscard]] const command_table& table() const noexcept { return table_; }

    /// Unix time of the current command.
    [[nodiscard]] std::int64_t now_us() const noexcept { return now_us_; }

    /// Takes the time for what follows, and removes a few keys whose time has passed. Answers the
    /// time.
    time_point begin();

    /// One command from a caller: looks it up, queues it if `from` is in MULTI, or runs it, and
    /// then serves those who wait for keys. If it has to wait, sets from.waiting and answers
    /// nothing.
    void process(connection& from, std::span<const std::string_view> args, sink& out);

    /// Runs a command that was looked up and counted. Error replies go to `out` too.
    void run(const command_spec& spec, connection& from, std::span<const std::string_view> args,
             sink& out);

    /// Something was added to what the key holds, or a value came to be under this key.
    void key_may_be_ready(const key_node& n) {
        if (!waiting_.empty()) note_ready(n);
    }
    void wait_for_keys(key_wait& w);
    void stop_waiting(key_wait& w) noexcept;

    /// CLIENT ID of what is called outside of sessions: the engine's own.
    static constexpr std::uint64_t shared_connection_id = 1;
    [[nodiscard]] std::uint64_t next_connection_id() noexcept { return ++last_connection_; }

    /// Forgets the connection's watched keys.
    void unwatch(connection& from);

    struct statistics {
        std::uint64_t commands = 0;
        std::uint64_t errors = 0;
        std::int64_t sessions = 0;
    };
    [[nodiscard]] statistics& stats() noexcept { return stats_; }
    [[nodiscard]] const std::string& run_id() const noexcept { return run_id_; }
    /// The id of the history that it continues, and of the one before, 40 digits each.
    [[nodiscard]] const std::string& replication_id() const noexcept { return replication_id_; }
    [[nodiscard]] const std::string& replication_before() const noexcept {
        return replication_before_;
    }
    void replicates(std::string id, std::string before);

    void refuse_growth(bool is) noexcept { refuses_growth_ = is; }
    [[nodiscard]] bool refuses_growth() const noexcept { return refuses_growth_ || no_room_; }

    /// 0: no bound. What keys hold is counted only while there is one.
    void bound_memory(std::size_t most, eviction_policy policy);
    [[nodiscard]] std::size_t most_bytes() const noexcept { return most_bytes_; }
    [[nodiscard]] eviction_policy eviction() const noexcept { return policy_; }

    [[nodiscard]] std::int64_t started_us() const noexcept { return wall_start_us_; }

private:
    void note_ready(const key_node& n);
    void serve_waiting();
    void serve_key(const std::string& key);
    void queue(connection& from, const command_spec& spec, std::span<const std::string_view> args,
               sink& out);
    void reject(connection& from, const command_spec* spec, std::span<const std::string_view> args,
                sink& out);
    void reject_growth(connection& from, sink& out);
    void reject_in_multi(connection& from, sink& out);
    [[nodiscard]] static bool may_grow(const connection& from, const command_spec& spec);
    /// Lets keys go until the bound is kept. False: there is none to let go.
    [[nodiscard]] bool make_room();

    std::mutex mutex_;
    clock& time_;
    entropy& chance_;
    const command_table& table_;
    const time_point start_;
    const std::int64_t wall_start_us_;
    std::int64_t now_us_;
    keyspace db_;
    message_hub hub_;
    lua_host scripts_;
    std::unordered_map<std::string, std::deque<key_wait*>> waiting_;
    std::vector<std::string> ready_;
    std::uint64_t last_connection_ = shared_connection_id;
    statistics stats_;
    std::string run_id_;
    std::string replication_id_;
    std::string replication_before_ = std::string(40, '0');
    std::size_t most_bytes_ = 0;
    eviction_policy policy_ = eviction_policy::noeviction;
    bool refuses_growth_ = false;
    bool no_room_ = false;  ///< As found before the current command.
};

}  // namespace holdfast::memory
