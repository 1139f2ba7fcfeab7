// SPDX-License-Identifier: Apache-2.0
//
// What the URLs of Sentinel and Cluster say beyond the options of one server.
#include <holdfast/redis/redis_topology.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace holdfast {
namespace {

constexpr std::string_view sentinel_prefix = "sentinel_";

result<std::vector<server_address>> addresses(const url& parsed, std::uint16_t default_port) {
    if (parsed.hosts.empty()) {
        return fail(errc::invalid_argument,
                    fmt::format("a {}: URL names hosts, as in {}://h1,h2,h3", parsed.scheme,
                                parsed.scheme));
    }
    std::vector<server_address> list;
    for (const url_host& host : parsed.hosts) {
        server_address one;
        one.host = host.name;
        one.port = host.port.value_or(default_port);
        if (std::ranges::find(list, one) == list.end()) list.push_back(std::move(one));
    }
    return list;
}

// "/NAME" or "/NAME/2".
result<void> read_path(const std::string& path, redis_sentinel_target& out) {
    const std::size_t slash = path.find('/', 1);
    if (path.size() > 1) out.master = path.substr(1, slash - 1);
    if (out.master.empty()) {
        return fail(errc::invalid_argument,
                    "a redis-sentinel: URL ends with the master's name, as in "
                    "redis-sentinel://h1,h2,h3/mymaster");
    }
    if (slash == std::string::npos || slash + 1 == path.size()) return {};
    const char* const end = path.data() + path.size();
    const auto read = std::from_chars(path.data() + slash + 1, end, out.options.database);
    if (read.ec != std::errc() || read.ptr != end || out.options.database < 0) {
        return fail(errc::invalid_argument,
                    "after the master's name comes a database number, as in /mymaster/0");
    }
    return {};
}

// An option "sentinel_x" is the sentinels' option x.
void divide(const url& parsed, url& servers, url& sentinels) {
    servers = parsed;
    servers.options.clear();
    sentinels.scheme = parsed.scheme;
    // The sentinels answer quickly or not at all, and there are others to ask. A later option wins.
    sentinels.options = {{"connect_timeout", "500ms"}, {"reply_timeout", "500ms"}};
    for (const auto& [name, value] : parsed.options) {
        if (name.starts_with(sentinel_prefix)) {
            sentinels.options.emplace_back(name.substr(sentinel_prefix.size()), value);
        } else {
            servers.options.emplace_back(name, value);
        }
    }
}

}  // namespace

result<redis_sentinel_target> parse_redis_sentinel_url(const url& parsed) {
    redis_sentinel_target out;
    auto hosts = addresses(parsed, 26379);
    if (!hosts) return std::unexpected(hosts.error());
    out.sentinels = std::move(*hosts);
    url servers;
    url sentinels;
    divide(parsed, servers, sentinels);
    auto options = parse_redis_options(servers);
    if (!options) return std::unexpected(options.error());
    out.options = std::move(*options);
    auto own = parse_redis_options(sentinels);
    if (!own) {
        return fail(own.error().code, fmt::format("an option of the sentinels ({}…): {}",
                                                  sentinel_prefix, own.error().detail));
    }
    out.sentinel_options = std::move(*own);
    if (out.sentinel_options.database != 0) {
        return fail(errc::invalid_argument, "sentinel_db: a sentinel has no databases");
    }
    out.options.tls.enabled = parsed.scheme == "rediss-sentinel";
    out.sentinel_options.tls.enabled = out.options.tls.enabled;
    if (auto read = read_path(parsed.path, out); !read) return std::unexpected(read.error());
    return out;
}

result<redis_cluster_target> parse_redis_cluster_url(const url& parsed) {
    redis_cluster_target out;
    auto hosts = addresses(parsed, 6379);
    if (!hosts) return std::unexpected(hosts.error());
    out.seeds = std::move(*hosts);
    if (parsed.path.size() > 1) {
        return fail(errc::invalid_argument,
                    "a redis-cluster: URL has no path: a cluster has one database");
    }
    auto options = parse_redis_options(parsed);
    if (!options) return std::unexpected(options.error());
    out.options = std::move(*options);
    out.options.tls.enabled = parsed.scheme == "rediss-cluster";
    return out;
}

}  // namespace holdfast
