// SPDX-License-Identifier: Apache-2.0
#include "core/permit_bounds.hpp"

#include "core/require.hpp"

#include <fmt/format.h>

namespace holdfast::detail {
namespace {

// A million is more than anyone hands out one by one, and keeps every sum far from its end.
constexpr std::uint32_t most_permits = 1'000'000;

}  // namespace

std::optional<error> unfit_limit(std::uint32_t limit) {
    if (limit >= 1 && limit <= most_permits) return std::nullopt;
    return error{errc::invalid_argument,
                 fmt::format("a semaphore of {} permits: it takes 1 to {}", limit, most_permits)};
}

std::optional<error> unfit_permits(const lease_mode& mode) {
    require(mode.type == lease_mode::kind::permit, "`mode` is of permits");
    if (auto why = unfit_limit(mode.limit)) return why;
    if (mode.permits >= 1 && mode.permits <= most_permits) return std::nullopt;
    return error{errc::invalid_argument,
                 fmt::format("{} permits at once: it takes 1 to as many as there are, at most {}",
                             mode.permits, most_permits)};
}

}  // namespace holdfast::detail
