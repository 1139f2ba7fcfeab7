// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/lease_info.hpp>
#include <holdfast/lease_mode.hpp>
#include <holdfast/names.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::ordered {

/// One owner in the queue of a name: a key that lives as long as the lease it is attached to.
///
/// Another program's entry (etcdctl lock, a client of the Go recipe) has no owner and counts as
/// exclusive.
struct queue_entry {
    std::string key;
    std::string owner;  ///< Empty if another program made it.
    lease_mode mode = {};
    client_label who = {};
    std::optional<wall_time> since = {};  ///< By its owner's clock.
    std::string note = {};
    /// What its owner asked for, where the engine does not keep it. Zero: not known.
    duration ttl = {};

    /// When the key was made, as a number that only grows.
    std::uint64_t position = 0;
    /// What the fence counts, where that is not the position: it grows with the position, but is
    /// not known of every entry. 0: the position.
    std::uint64_t made = 0;
    /// When the key was last written. A change that names it fails if somebody else wrote since.
    std::uint64_t version = 0;
    std::int64_t lease = 0;

    /// Between the fences of two entries there is room for those that a client hands out itself,
    /// when it passes a lease on (acquire_options::local_passes, at most 100).
    static constexpr std::uint64_t fences_each = 128;
    [[nodiscard]] fencing_token fence() const noexcept {
        return {(made != 0 ? made : position) * fences_each};
    }

    [[nodiscard]] bool is_foreign() const noexcept { return owner.empty(); }
};

}  // namespace holdfast::ordered
