// SPDX-License-Identifier: Apache-2.0
#include "open/engines.hpp"

#include <holdfast/suggest.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace holdfast {
namespace detail {
namespace {

#ifdef HOLDFAST_HAS_MEMORY
constexpr engine_opener memory_opener = open_memory;
#else
constexpr engine_opener memory_opener = nullptr;
#endif

#ifdef HOLDFAST_HAS_REDIS
constexpr engine_opener redis_opener = open_redis;
constexpr engine_opener redlock_opener = open_redlock;
#else
constexpr engine_opener redis_opener = nullptr;
constexpr engine_opener redlock_opener = nullptr;
#endif

#ifdef HOLDFAST_HAS_SQLITE
constexpr engine_opener sqlite_opener = open_sqlite;
#else
constexpr engine_opener sqlite_opener = nullptr;
#endif

struct engine {
    std::string_view scheme;
    std::string_view option;  ///< The build option that leaves it out.
    engine_opener open;       ///< nullptr if this build leaves it out.
};

constexpr std::array engines{
    engine{"memory", "HOLDFAST_ENGINE_MEMORY", memory_opener},
    engine{"sqlite", "HOLDFAST_ENGINE_SQLITE", sqlite_opener},
    engine{"redis", "HOLDFAST_ENGINE_REDIS", redis_opener},
    engine{"rediss", "HOLDFAST_ENGINE_REDIS", redis_opener},
    engine{"redis+unix", "HOLDFAST_ENGINE_REDIS", redis_opener},
    engine{"redis-sentinel", "HOLDFAST_ENGINE_REDIS", redis_opener},
    engine{"rediss-sentinel", "HOLDFAST_ENGINE_REDIS", redis_opener},
    engine{"redis-cluster", "HOLDFAST_ENGINE_REDIS", redis_opener},
    engine{"rediss-cluster", "HOLDFAST_ENGINE_REDIS", redis_opener},
    engine{"redlock", "HOLDFAST_ENGINE_REDIS", redlock_opener},
    engine{"redlocks", "HOLDFAST_ENGINE_REDIS", redlock_opener},
};

}  // namespace

std::optional<std::string> take_option(url& where, std::string_view name) {
    const auto found = std::ranges::find(
        where.options, name, [](const auto& option) { return std::string_view(option.first); });
    if (found == where.options.end()) return std::nullopt;
    std::string value = std::move(found->second);
    where.options.erase(found);
    return value;
}

std::unexpected<error> wrong_option(std::string_view option, std::string_view takes) {
    return fail(errc::invalid_argument,
                fmt::format("option {} of the URL takes {}", option, takes));
}

result<void> only_options(const url& where, std::span<const std::string_view> known) {
    for (const auto& [name, value] : where.options) {
        if (std::ranges::find(known, name) != known.end()) continue;
        return fail(errc::invalid_argument,
                    fmt::format("engine URL: {}: has no option '{}'{}", where.scheme, name,
                                did_you_mean(name, known)));
    }
    return {};
}

namespace {

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
        return fail(errc::unsupported,
                    fmt::format("engine URL: this build leaves out '{}:': build with {}=ON",
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
