// SPDX-License-Identifier: Apache-2.0
//
// From a URL to an engine: the scheme decides.
#include <holdfast/engine/suggest.hpp>
#include <holdfast/redis/redis_topology.hpp>

#include <fmt/format.h>

#include <array>
#include <utility>

namespace holdfast {

result<std::unique_ptr<redis_engine>> open_redis(std::string_view text) {
    auto parsed = parse_url(text);
    if (!parsed) return std::unexpected(parsed.error());
    const std::string& scheme = parsed->scheme;
    const auto built = [](auto target, auto make) -> result<std::unique_ptr<redis_engine>> {
        if (!target) return std::unexpected(target.error());
        return make(std::move(*target));
    };
    if (scheme == "redis" || scheme == "rediss" || scheme == "redis+unix") {
        return built(parse_redis_url(*parsed),
                     [](redis_target t) { return make_redis(std::move(t)); });
    }
    if (scheme == "redis-sentinel" || scheme == "rediss-sentinel") {
        return built(parse_redis_sentinel_url(*parsed),
                     [](redis_sentinel_target t) { return make_redis_sentinel(std::move(t)); });
    }
    if (scheme == "redis-cluster" || scheme == "rediss-cluster") {
        return built(parse_redis_cluster_url(*parsed),
                     [](redis_cluster_target t) { return make_redis_cluster(std::move(t)); });
    }
    constexpr std::array<std::string_view, 7> schemes{
        "redis",           "rediss",        "redis+unix",    "redis-sentinel",
        "rediss-sentinel", "redis-cluster", "rediss-cluster"};
    return fail(errc::invalid_argument, fmt::format("'{}' is not a scheme of Redis{}", scheme,
                                                    did_you_mean(scheme, schemes)));
}

}  // namespace holdfast
