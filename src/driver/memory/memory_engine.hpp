// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/eviction.hpp"
#include "driver/memory/memory_image.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/engine/command_engine.hpp>
#include <holdfast/entropy.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The embedded engine, `memory:`: the Redis commands that Holdfast needs, in the process.
///
/// The same command on Redis 7.0 gives the same reply and the same error text. It has no thread and
/// no socket: a command is carried out on the thread that asks for it, one at a time. It ends with
/// its process, and nothing of it is stored.
///
/// Handlers of subscriptions run on the thread of whoever published, after the command and without
/// any lock; see message_hub.hpp for the rule on ending a subscription.
///
/// A call whose `give_up` has come already answers `timed_out` and does nothing.
///
/// Scripts are remembered up to a bound (lua_host.hpp): the one unused for longest is forgotten for
/// a new one, and its EVALSHA says NOSCRIPT. Commands that bring their body never notice.
///
/// Limits: database 0 only; no SUBSCRIBE as a command inside the process (use subscribe()); no
/// cjson, cmsgpack, struct in scripts; blocking commands wait only on a session, elsewhere they
/// answer as inside MULTI.
namespace holdfast {
namespace memory {
class engine_core;
}

/// What is stored under a key (engine/memory/key_image.hpp).
struct key_image {
    std::string bytes;
    std::int64_t expires_ms = -1;  ///< Unix time; -1: it does not.

    friend bool operator==(const key_image&, const key_image&) = default;
};

struct memory_options {
    /// The clock of expiry and of give_up; null: the machine's.
    clock* time = nullptr;

    /// Where SPOP, RANDOMKEY and the seed of the hash tables come from; null: the kernel's.
    entropy* chance = nullptr;

    /// A script that takes more steps of the interpreter is ended with an error; what it wrote
    /// stays. About a second. Steps, not time: a simulation ends where every other run of it ends.
    std::uint64_t script_steps = 100'000'000;

    /// The most bytes that all scripts together may hold: a runaway script fails, not the process.
    std::size_t script_memory = std::size_t{256} * 1024 * 1024;

    /// About how many bytes the keys may take; 0: as many as there are. An estimate (see
    /// value_size.hpp), so leave room.
    std::size_t max_memory = 0;

    /// Which keys go when that is reached. Every policy but noeviction may let a lock go that
    /// somebody holds: use it for caches.
    memory::eviction_policy eviction = memory::eviction_policy::noeviction;
};

/// Thread safety: all members may be called from any thread.
class memory_engine : public command_engine {
public:
    /// Removes keys whose time has passed, at most a bounded number; answers how many.
    ///
    /// Every command does a little of this itself, more than a plain command can add, so an engine
    /// in use rarely needs anybody to call it (a script or a transaction can set more keys than the
    /// next few commands remove). An idle one keeps what it held when the last command came: keys
    /// whose time has passed are never seen again, but their memory comes back only with the next
    /// commands, sixteen keys each, or from here. It has no thread for that, which would also stand
    /// in the way of virtual time: an owner to whom that memory matters calls this until it
    /// answers 0.
    virtual std::size_t tend() = 0;

    /// What is stored under a key, as bytes; nothing if the key is not there. For an engine that
    /// keeps its keys elsewhere and only works on them here.
    [[nodiscard]] virtual std::optional<key_image> image(std::string_view key) = 0;

    /// Stores it under the key, in the place of what was there. False if these are not the bytes of
    /// an image; then nothing was changed.
    [[nodiscard]] virtual bool place(std::string_view key, const key_image& what) = 0;

    [[nodiscard]] virtual std::vector<std::string> key_names() = 0;

    /// Forgets all keys, but no scripts.
    virtual void clear() = 0;

    // What a simulation does to a server.

    [[nodiscard]] virtual memory::memory_image image() = 0;
    virtual void load(const memory::memory_image& image) = 0;

    /// Whether commands that need memory are refused, as by a Redis that has reached its maxmemory.
    virtual void out_of_memory(bool is) = 0;

    /// What INFO says of the history that it continues; `before` is that of the master from which
    /// it was promoted, empty if it was not.
    virtual void replicates(std::string id, std::string before) = 0;

    /// For a server that gives connections from outside to it (src/resp).
    [[nodiscard]] virtual std::shared_ptr<memory::engine_core> core() noexcept = 0;
};

[[nodiscard]] std::shared_ptr<memory_engine> make_memory_engine(memory_options options = {});

}  // namespace holdfast
