// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/top/losses.hpp"

#include <holdfast/client.hpp>
#include <holdfast/lease_info.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// How much happens on an engine, from one look to the next.
///
/// Redis counts for us: the counter of fences grows by each grant, of whatever client (a grant that
/// is passed on in a process reserves several, so it may count too many), and INFO counts the keys
/// that expired, of which leases that were not given back are some. Elsewhere (in a file, in a
/// Cluster, in a quorum) only what two looks see differently is counted: too little.
namespace holdfast::app {

struct pulse {
    std::optional<double> acquired;     ///< In a second.
    std::optional<double> handed_off;   ///< In a second, as seen by looks.
    std::optional<double> expired;      ///< Keys in a second, or leases, as seen by looks …
    std::uint64_t expired_in_all = 0;   ///< … and since the first look.
    std::optional<double> hits;         ///< Share of the server's reads that found their key.
    bool from_counter = false;          ///< Where `acquired` comes from,
    bool expired_from_counter = false;  ///< … and where `expired` does: known at the first look.
    bool at_least = false;              ///< The counter jumped: `acquired` is what looks saw.
};

class pulse_meter {
public:
    /// Whether there is one server that counts for all.
    explicit pulse_meter(bool one_server) : one_server_(one_server) {}

    /// What happened since the last call; nothing at the first.
    [[nodiscard]] pulse measure(client& on, std::span<const lease_info> seen);

private:
    struct counts {
        std::optional<std::uint64_t> fences;
        std::optional<std::uint64_t> time_us;  ///< The server's time of day.
        std::optional<std::uint64_t> expired;
        std::optional<std::uint64_t> hits;    ///< Reads of keys that were there, …
        std::optional<std::uint64_t> misses;  ///< … and that were not.
    };
    [[nodiscard]] counts ask(client& on) const;
    [[nodiscard]] static std::optional<double> share_of_hits(const counts& before,
                                                             const counts& now);

    const bool one_server_;
    time_point last_{};
    counts before_;
    loss_watch losses_;
    std::uint64_t expired_ = 0;
    std::vector<lease_info> leases_;
};

}  // namespace holdfast::app
