// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/cache_entry.hpp"

#include <holdfast/engine/command_access.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/// What a cache asks its engine: each member is one trip, and decides nothing more.
///
/// Kept apart from who asks when, so that the race test can put any order of these trips, by any
/// number of processes that die between them, against the engine.
///
/// Thread safety: all members may be called from any thread.
namespace holdfast::detail {

enum class claim_mode : std::uint8_t { stale, early, force };

struct claimed {
    enum class state : std::uint8_t { fresh = 0, mine = 1, others = 2 };
    state what = state::fresh;
    std::int64_t server_us = 0;
    std::string entry;  ///< What was there; empty if there was nothing.
};

struct stored {
    bool kept = false;  ///< False: the lease was voided meanwhile.
    std::int64_t server_us = 0;
};

/// What is to be stored, and for how long.
struct entry_value {
    entry_kind kind = entry_kind::value;
    std::string_view value;
    duration fresh{};
    duration life{};
    duration took{};
};

class cache_entries {
public:
    /// `channel`: where all processes of this cache hear what changes.
    cache_entries(command_access where, std::string prefix, std::string process);
    virtual ~cache_entries() = default;

    /// GET: the entry, or an empty text.
    [[nodiscard]] virtual result<std::string> look(std::string_view key, time_point give_up);
    /// The same, and if there is nothing, takes the lease. An entry with the caller's own token
    /// means that it has it.
    [[nodiscard]] virtual result<std::string> look_or_claim(std::string_view key,
                                                            std::string_view token, duration lease,
                                                            time_point give_up);
    [[nodiscard]] virtual result<claimed> claim(std::string_view key, std::string_view token,
                                                duration lease, claim_mode mode,
                                                time_point give_up);
    /// An empty token stores whatever there is.
    [[nodiscard]] virtual result<stored> store(std::string_view key, std::string_view token,
                                               const entry_value& what, time_point give_up);
    [[nodiscard]] virtual result<bool> abandon(std::string_view key, std::string_view token,
                                               time_point give_up);
    [[nodiscard]] virtual result<bool> invalidate(std::string_view key, time_point give_up);

    [[nodiscard]] const std::string& channel() const noexcept { return channel_; }
    [[nodiscard]] std::string name_of(std::string_view key) const;

protected:
    [[nodiscard]] std::string message(char what, std::string_view key) const;

    command_access where_;

private:
    std::string prefix_;
    std::string process_;
    std::string channel_;
};

/// What a message on the channel says.
struct cache_message {
    enum class what : char { stored = 's', deleted = 'd', released = 'r' };
    what happened = what::deleted;
    std::string_view process;
    std::string_view key;

    /// Nothing, if it is no message of ours.
    [[nodiscard]] static std::optional<cache_message> read(std::string_view payload);
};

}  // namespace holdfast::detail
