// SPDX-License-Identifier: Apache-2.0
#include "open/engines.hpp"

#include <holdfast/engine/suggest.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace holdfast {
namespace detail {
namespace {

struct engine {
    std::string_view scheme;
    std::string_view option;  ///< The build option that leaves it out.
    engine_opener open;       ///< nullptr if this build leaves it out.
};

constexpr std::array engines{
#define HOLDFAST_ENGINE(scheme, option, opener) engine{scheme, option, opener},
#define HOLDFAST_NO_ENGINE(scheme, option) engine{scheme, option, nullptr},
#include "engine_table.inc"
#undef HOLDFAST_ENGINE
#undef HOLDFAST_NO_ENGINE
};

result<void> check_clock(client& made, const client_options& options) {
    if (options.max_clock_offset == duration::zero()) return {};
    const auto seen = made.compare_clocks();
    if (!seen) return std::unexpected(seen.error());
    const duration apart = std::max(seen->offset, -seen->offset);
    if (apart - seen->round_trip / 2 <= options.max_clock_offset) return {};
    return fail(errc::unavailable,
                fmt::format("the engine's clock is {:.1f} s {} this machine's, which is more than "
                            "max_clock_offset: set both clocks by NTP",
                            std::chrono::duration<double>(apart).count(),
                            seen->offset > duration::zero() ? "ahead of" : "behind"));
}

}  // namespace
}  // namespace detail

result<client> open(std::string_view text, const client_options& options) {
    if (options.time == nullptr || options.chance == nullptr) {
        return fail(errc::invalid_argument, "client_options: time and chance must not be null");
    }
    if (options.request_timeout <= duration::zero()) {
        return fail(errc::invalid_argument, "client_options: request_timeout must be above zero");
    }
    if (options.close_timeout < duration::zero()) {
        return fail(errc::invalid_argument, "client_options: close_timeout must not be negative");
    }
    if (options.max_clock_offset < duration::zero()) {
        return fail(errc::invalid_argument,
                    "client_options: max_clock_offset must not be negative");
    }
    const auto where = parse_url(text);
    if (!where) return std::unexpected(where.error());
    const auto found = std::ranges::find(detail::engines, where->scheme, &detail::engine::scheme);
    if (found == detail::engines.end()) {
        std::array<std::string_view, detail::engines.size()> known;
        std::ranges::transform(detail::engines, known.begin(), &detail::engine::scheme);
        return fail(
            errc::invalid_argument,
            fmt::format("engine URL: there is no engine '{}:'{} (there is {}:)", where->scheme,
                        did_you_mean(where->scheme, known), fmt::join(known, ":, ")));
    }
    if (found->open == nullptr) {
        return fail(
            errc::unsupported,
            fmt::format("engine URL: this build leaves out '{}:': build with HOLDFAST_ENGINE_{}=ON",
                        found->scheme, found->option));
    }
    auto engine = found->open(*where, options);
    if (!engine) return std::unexpected(std::move(engine.error()));
    client made(std::move(engine->store), options, std::move(engine->commands));
    if (const auto fit = detail::check_clock(made, options); !fit) {
        return std::unexpected(fit.error());
    }
    return made;
}

}  // namespace holdfast
