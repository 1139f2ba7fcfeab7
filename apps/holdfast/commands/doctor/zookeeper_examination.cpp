// SPDX-License-Identifier: Apache-2.0
//
// Asks each server of a ZooKeeper ensemble what it is, and what that means for leases.
#include "commands/doctor/examinations.hpp"
#include "driver/zookeeper/zookeeper_report.hpp"
#include "open/zookeeper_url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace holdfast::app {
namespace {

using level = finding::level;

constexpr duration zookeeper_patience = std::chrono::seconds(6);
constexpr duration slow_ensemble_write = std::chrono::milliseconds(50);

/// "3.8.0": 3'008. The third part does not matter here.
int zookeeper_version(std::string_view text) {
    int parts[2] = {0, 0};
    for (int& part : parts) {
        const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), part);
        if (problem != std::errc{}) break;
        text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
        if (!text.starts_with('.')) break;
        text.remove_prefix(1);
    }
    return parts[0] * 1'000 + parts[1];
}

void examine_zookeeper_server(const zookeeper::server_report& one, findings& found) {
    if (one.version.empty()) {
        found.push_back({level::note, "server", one.label, "it listens, but says nothing of itself",
                         "let 4lw.commands.whitelist in its zoo.cfg contain srvr"});
        return;
    }
    found.push_back(
        {level::good, "version", one.label,
         fmt::format("ZooKeeper {}, {}, {} nodes, latency {} ms (min/mean/max)", one.version,
                     one.mode.empty() ? "serving nobody" : one.mode, one.nodes, one.latency),
         ""});
    if (zookeeper_version(one.version) < 3'005) {
        found.push_back({level::unsafe, "version", one.label,
                         "it has no container nodes, which the names of leases are",
                         "run ZooKeeper 3.5.3 or later"});
    }
    constexpr std::uint64_t many = 1000;
    if (one.outstanding > many) {
        found.push_back({level::note, "load", one.label,
                         fmt::format("{} requests wait in it", one.outstanding),
                         "sessions of clients may expire: it is overloaded"});
    }
}

void examine_quorum(const zookeeper::ensemble_report& seen, findings& found) {
    const auto in_mode = [&](std::string_view mode) {
        return std::ranges::count_if(seen.servers,
                                     [&](const auto& one) { return one && one->mode == mode; });
    };
    const auto leaders = in_mode("leader");
    if (in_mode("") + leaders + in_mode("standalone") + in_mode("follower") == 0) return;
    if (in_mode("standalone") > 0) {
        found.push_back({level::note, "quorum", "",
                         "it is one server: while it is down, nothing is granted",
                         "an ensemble of three outlives the loss of one"});
        if (seen.servers.size() > 1) {
            found.push_back({level::unsafe, "quorum", "",
                             "a server of the URL stands alone: they are not one ensemble",
                             "name the servers of one ensemble only"});
        }
        return;
    }
    if (leaders == 1) {
        found.push_back({level::good, "quorum", "",
                         fmt::format("1 leader and {} followers of {} servers named here",
                                     in_mode("follower"), seen.servers.size()),
                         ""});
    } else if (leaders > 1) {
        found.push_back(
            {level::unsafe, "quorum", "",
             fmt::format("{} servers say that they lead: they are not one ensemble", leaders),
             "name the servers of one ensemble only"});
    } else {
        found.push_back({level::note, "quorum", "", "the leader is not among the servers named",
                         "name them all, so that any one may be down"});
    }
}

void examine_session(const zookeeper::ensemble_report& seen, findings& found) {
    if (!seen.session) {
        found.push_back({level::unsafe, "session", "", seen.session.error().detail, ""});
        return;
    }
    const auto seconds = [](duration d) { return std::chrono::duration<double>(d).count(); };
    const double longest = seconds(seen.longest) / 2;  // zookeeper_session::safe_part()
    const bool brief = longest < 30;
    found.push_back(
        {brief ? level::note : level::good, "session", "",
         fmt::format("timeouts from {:g} s to {:g} s: a lease lasts at most {:g} s "
                     "without a renewal",
                     seconds(seen.shortest), seconds(seen.longest), longest),
         brief ? "set maxSessionTimeout to 60000 or more for the usual ttl of 30 s" : ""});
    if (seen.write_time == duration::zero()) return;
    const bool slow = seen.write_time > slow_ensemble_write;
    found.push_back(
        {slow ? level::note : level::good, "disk", "",
         fmt::format("a write that a majority keeps took {:.1f} ms",
                     seconds(seen.write_time) * 1e3),
         slow ? "every acquire and release is one: give dataLogDir a disk of its own" : ""});
}

}  // namespace

findings examine_zookeeper(const url& where) {
    const auto options = detail::read_zookeeper_url(where);
    if (!options) return {};
    findings found;
    const auto seen =
        zookeeper::report_on(*options, system_clock(), system_clock().now() + zookeeper_patience);
    for (const auto& one : seen.servers) {
        if (one) {
            examine_zookeeper_server(*one, found);
        } else {
            found.push_back({level::note, "server", "", one.error().detail,
                             "see that it runs, and that this machine reaches it"});
        }
    }
    examine_quorum(seen, found);
    examine_session(seen, found);
    if (std::ranges::any_of(options->servers, [](const zookeeper::zookeeper_endpoint& at) {
            return at.host != "localhost" && at.host != "::1" && !at.host.starts_with("127.");
        })) {
        found.push_back({level::note, "tls", "", "leases and passwords travel in the clear",
                         "keep the servers in a trusted network: the client library has no TLS"});
    }
    return found;
}

}  // namespace holdfast::app
