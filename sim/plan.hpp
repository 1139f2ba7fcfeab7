// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "timeline.hpp"

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What a seed decides before anything happens: how many take part, how they behave, which faults
/// there will be, and so which promises must hold.
///
/// Each seed draws a subset of the faults and its own rates. A world in which everything fails all
/// the time rarely gets anywhere interesting; most bugs need two or three faults and some quiet.
namespace holdfast::sim {

enum class fault : std::uint8_t {
    delay,          ///< Messages are slow now and then, up to several ttl: so they also overtake.
    loss,           ///< Messages are lost.
    duplication,    ///< What may be sent again is carried out twice, at different times.
    reset,          ///< Connections end.
    cut,            ///< Nothing comes through, one way or both.
    clog,           ///< Everything waits, then comes at once.
    pause,          ///< A program stands still.
    client_crash,   ///< A program is gone, or closes its client; another one starts.
    fork,           ///< A program forks; the child uses what it inherited.
    drift,          ///< Clocks run at different speeds, within what is allowed.
    node_crash,     ///< A server restarts and has kept everything.
    node_loss,      ///< A server restarts and has lost the last second, or everything.
    clock_back,     ///< A server's clock is set back.
    clock_forward,  ///< A server's clock is set forward.
    script_flush,   ///< A server forgets its scripts.
    out_of_memory,  ///< A server refuses what needs memory.
    failover,       ///< A replica that lags becomes the master.
    split_brain,    ///< The old master goes on for a while.
    isolation,      ///< Answers to a program come late, and then nothing for longer than a ttl.
    skew,           ///< The servers of a quorum show different times, up to several quarantines.
};
inline constexpr std::size_t fault_kinds = 20;

using fault_set = std::bitset<fault_kinds>;

[[nodiscard]] std::string_view to_string(fault kind) noexcept;
[[nodiscard]] std::string describe(const fault_set& faults);

/// How names are held.
enum class custom : std::uint8_t { mutex, shared, permits };

enum class shape : std::uint8_t { single, replicated, quorum };

/// What must hold in a world with these faults.
struct promises {
    bool exclusion = true;  ///< Two never both believe …
    bool beliefs = true;    ///< … but for leases not renewed since a clock was set forward.
    bool fences = true;     ///< They strictly grow.
    bool order = true;      ///< First come, first served.
    bool kept = true;       ///< What somebody believes in, the server has.
};

struct plan {
    std::uint64_t seed = 0;
    shape servers = shape::single;
    unsigned nodes = 1;
    unsigned processes = 3;
    unsigned tasks = 2;  ///< Of each process.
    unsigned names = 1;
    custom held = custom::mutex;
    unsigned permits = 3;  ///< Of a semaphore.
    moment safety{};       ///< How long the phase with faults lasts.
    moment ttl_least{};
    moment ttl_most{};
    moment hold_most{};
    moment think_most{};
    moment request_timeout{};
    moment node_timeout{};  ///< Of each server of a quorum.
    moment quarantine{};    ///< Zero: none.
    unsigned replicas = 0;  ///< That must confirm.
    unsigned passes = 0;    ///< Local passes of those who wait.
    unsigned barge = 0;     ///< In a thousand.
    unsigned try_once = 0;  ///< In a thousand.
    bool blocking = true;   ///< Programs call as blocking ones do: the fast path first.

    fault_set faults;
    moment latency{};            ///< One way, about.
    unsigned slow = 0;           ///< Messages in a thousand that are slow …
    moment slowest{};            ///< … up to this.
    unsigned lost = 0;           ///< Messages in a thousand.
    unsigned doubled = 0;        ///< Of those that may be sent again, in a thousand.
    moment between_faults{};     ///< About, of those that happen to somebody.
    std::int64_t drift_ppm = 0;  ///< At most, to either side.

    promises promised;

    [[nodiscard]] bool has(fault kind) const { return faults[static_cast<std::size_t>(kind)]; }
};

/// What a caller may take away from a seed.
struct limits {
    fault_set without;              ///< These faults do not happen.
    moment safety = moment::max();  ///< At most.
    std::optional<shape> servers;   ///< Only these, whatever the seed draws.
    std::optional<custom> held;     ///< Names are held only so.
    unsigned processes = 99;        ///< At most.
};

[[nodiscard]] plan draw_plan(std::uint64_t seed, const limits& bounds);

}  // namespace holdfast::sim
