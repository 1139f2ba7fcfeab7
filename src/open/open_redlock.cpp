// SPDX-License-Identifier: Apache-2.0
//
// redlock: and redlocks: (with TLS): a quorum of Redis servers that know nothing of each other.
//
//     redlock://[user[:password]@]h1[:6379],h2,h3,h4,h5[/db][?options]
//
// User, password, database and the options of the client (include/holdfast/redis/redis.hpp) are the
// same for all. Its own are prefix, quarantine, node_timeout and fence.
#include "lease/commands/command_lease_store.hpp"
#include "lease/quorum/quorum_lease_store.hpp"
#include "open/engines.hpp"
#include "open/url_options.hpp"

#include <holdfast/engine/span_text.hpp>
#include <holdfast/redis/redis.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t fewest = 3;
constexpr std::size_t most = 15;

struct redlock_options {
    command_lease_options leases;
    quorum_options quorum;
    duration quarantine = 30s;  // as long as the mutex's default ttl
};

// Takes the options of the locks out of the URL.
result<redlock_options> quorum_options_of(url& where) {
    redlock_options made;
    if (auto prefix = take_option(where, "prefix")) made.leases.prefix = std::move(*prefix);
    const auto quarantine = take_quarantine(where, made.quarantine);
    if (!quarantine) return std::unexpected(quarantine.error());
    made.quarantine = *quarantine;
    if (made.quarantine > duration::zero()) made.quorum.longest_ttl = made.quarantine;
    made.leases.furthest_floor = made.quarantine;
    if (const auto text = take_option(where, "node_timeout")) {
        const auto span = parse_span(*text);
        if (!span || *span < 1ms || *span > 1min) {
            return wrong_option("node_timeout", "a time from 1ms to 1m");
        }
        made.quorum.node_timeout = *span;
    }
    if (const auto text = take_option(where, "fence")) {
        if (*text != "on" && *text != "off") return wrong_option("fence", "on or off");
        made.quorum.fences = *text == "on" ? quorum_options::fence::on : quorum_options::fence::off;
    }
    return made;
}

// A server that stands in the list twice would have two votes.
result<void> check_hosts(const std::vector<url_host>& hosts) {
    if (hosts.size() < fewest || hosts.size() > most) {
        return fail(
            errc::invalid_argument,
            fmt::format("a redlock: URL names {} to {} servers, best an odd number of them, "
                        "as in redlock://h1,h2,h3; this one names {}",
                        fewest, most, hosts.size()));
    }
    for (auto at = hosts.begin(); at != hosts.end(); ++at) {
        const auto same = [&](const url_host& other) {
            return other.name == at->name && other.port.value_or(6379) == at->port.value_or(6379);
        };
        if (std::any_of(hosts.begin(), at, same)) {
            return fail(errc::invalid_argument,
                        "a redlock: URL names a server twice: it would have two votes");
        }
    }
    return {};
}

// A quarantine is checked once for each connection, which a restart always ends, not at each grant.
result<quorum_node> make_node(const url& where, const url_host& host, const redlock_options& own,
                              const client_options& options) {
    url alone = where;
    alone.scheme = where.scheme == "redlocks" ? "rediss" : "redis";
    alone.hosts = {host};
    auto target = parse_redis_url(alone);
    if (!target) return std::unexpected(std::move(target.error()));
    auto& greeting = target->options.on_connect_commands;
    if (own.quarantine > duration::zero()) greeting.push_back(stand_aside_command(own.quarantine));
    greeting.push_back(raise_fence_command());
    command_lease_options leases = own.leases;
    leases.clocks = std::make_shared<server_clocks>();
    target->options.on_connect_answer =
        [clocks = leases.clocks](const reply& answer, time_point sent, time_point heard) {
            clocks->greet(answer, sent, heard);
        };
    std::string label = to_string(target->address);
    auto made = make_redis(std::move(*target), *options.time, *options.chance);
    if (!made) return std::unexpected(std::move(made.error()));
    std::shared_ptr<command_engine> engine = std::move(*made);
    return quorum_node{std::move(label),
                       std::make_shared<command_lease_store>(std::move(engine), *options.chance,
                                                             std::move(leases))};
}

}  // namespace

result<opened_engine> open_redlock(const url& where, const client_options& options) {
    url rest = where;
    if (auto fit = check_hosts(rest.hosts); !fit) return std::unexpected(std::move(fit.error()));
    auto own = quorum_options_of(rest);
    if (!own) return std::unexpected(std::move(own.error()));
    std::vector<quorum_node> nodes;
    for (const url_host& host : rest.hosts) {
        auto node = make_node(rest, host, *own, options);
        if (!node) return std::unexpected(std::move(node.error()));
        nodes.push_back(std::move(*node));
    }
    return opened_engine{std::make_shared<quorum_lease_store>(std::move(nodes), *options.time,
                                                              *options.chance, own->quorum),
                         nullptr};
}

}  // namespace holdfast::detail
