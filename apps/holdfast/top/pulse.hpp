// SPDX-License-Identifier: Apache-2.0
#pragma once

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
/// that expired, of which leases that were not given back are some. Elsewhere, and in a Cluster,
/// only what two looks see differently is counted: too little.
namespace holdfast::app {

struct pulse {
    std::optional<double> acquired;     ///< In a second.
    std::optional<double> handed_over;  ///< In a second, as seen by looks.
    std::optional<double> expired;      ///< Keys in a second; unknown if the engine cannot tell.
    bool from_counter = false;          ///< Where `acquired` comes from.
};

class pulse_meter {
public:
    /// What happened since the last call; nothing at the first.
    [[nodiscard]] pulse measure(client& on, std::span<const lease_info> seen);

private:
    struct counts {
        std::optional<std::uint64_t> fences;
        std::optional<std::uint64_t> time_us;  ///< The server's time of day.
        std::optional<std::uint64_t> expired;
    };
    [[nodiscard]] static counts ask(client& on);

    time_point last_{};
    counts before_;
    std::vector<lease_info> leases_;
};

}  // namespace holdfast::app
