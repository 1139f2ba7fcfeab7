// SPDX-License-Identifier: Apache-2.0
//
// Which options an acquire takes, and when a client can begin one.
#include "core/lease_bounds.hpp"
#include "core/validity.hpp"
#include "lock/lock_runtime.hpp"
#include "runtime/fork_watch.hpp"

#include <fmt/format.h>

#include <string>

namespace holdfast::detail {
namespace {

std::string in_ms(duration d) {
    return fmt::format("{} ms", std::chrono::duration<double, std::milli>(d).count());
}

constexpr std::uint32_t most_passes = 100;

}  // namespace

result<void> lock_runtime::fit_ttl(duration ttl, std::optional<duration> drift) const {
    if (ttl < shortest_ttl || ttl > longest_ttl) {
        return fail(errc::invalid_argument,
                    fmt::format("ttl is {}: it takes 10 ms to 24 h", in_ms(ttl)));
    }
    if (!drift) return {};
    if (*drift < duration::zero()) {
        return fail(errc::invalid_argument,
                    fmt::format("drift is {}: it takes zero or more", in_ms(*drift)));
    }
    if (*drift >= longest_ttl || drift_allowance(ttl, drift) >= ttl) {
        return fail(errc::invalid_argument,
                    fmt::format("a drift of {} and 2 ms for rounding leave nothing of a ttl of {}: "
                                "take a longer ttl, or allow less drift",
                                in_ms(*drift), in_ms(ttl)));
    }
    return {};
}

result<void> lock_runtime::ready(const acquire_options& options, const lease_mode& mode) const {
    if (closed_) return std::unexpected(closed_error());
    if (fork_generation() != generation_) {
        return fail(errc::invalid_argument,
                    "the client belongs to the parent process: open one after fork()");
    }
    if (auto fit = fit_ttl(options.ttl, options.drift); !fit) return fit;
    if (options.wait < duration::zero()) {
        return fail(errc::invalid_argument,
                    fmt::format("wait is {}: it takes zero or more", in_ms(options.wait)));
    }
    if (options.max_hold <= duration::zero()) {
        return fail(errc::invalid_argument, fmt::format("max_hold is {}: it takes more than zero",
                                                        in_ms(options.max_hold)));
    }
    if (options.local_passes > most_passes) {
        return fail(errc::invalid_argument, fmt::format("local_passes is {}: it takes 0 to {}",
                                                        options.local_passes, most_passes));
    }
    if (options.note.data() != nullptr) {
        if (auto fit = fit_note(options.note); !fit) return fit;
    }
    if (mode.type == lease_mode::kind::shared && !store_->can().shared) {
        return fail(errc::unsupported, "this engine has no shared leases");
    }
    if (mode.type == lease_mode::kind::permit && !store_->can().permits) {
        return fail(errc::unsupported, "this engine has no permits");
    }
    return {};
}

}  // namespace holdfast::detail
