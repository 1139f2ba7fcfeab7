// SPDX-License-Identifier: Apache-2.0
//
// Asks each server of an etcd cluster what it is, and what that means for leases.
#include "commands/doctor/examinations.hpp"
#include "driver/etcd/etcd_report.hpp"
#include "open/etcd_url.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

namespace holdfast::app {
namespace {

using level = finding::level;
using etcd::server_report;

constexpr duration etcd_patience = std::chrono::seconds(5);
constexpr duration slow_write = std::chrono::milliseconds(50);

/// "3.4.23" as a number that can be compared: 3'004'023.
int version_number(std::string_view text) {
    int parts[3] = {0, 0, 0};
    for (int& part : parts) {
        const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), part);
        if (problem != std::errc{}) break;
        text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
        if (!text.starts_with('.')) break;
        text.remove_prefix(1);
    }
    return parts[0] * 1'000'000 + parts[1] * 1'000 + parts[2];
}

// etcd#17780: a crash in the middle of a compaction sets the revision back.
bool may_set_revisions_back(std::string_view version) {
    const int number = version_number(version);
    return number < 3'004'032 || (number >= 3'005'000 && number < 3'005'013);
}

void examine_server(const server_report& one, findings& found) {
    found.push_back({level::good, "version", one.label, fmt::format("etcd {}", one.version), ""});
    if (version_number(one.version) < 3'004'000) {
        found.push_back({level::unsafe, "version", one.label,
                         "it is older than the watches and transactions that leases need",
                         "run etcd 3.4 or later"});
    } else if (may_set_revisions_back(one.version)) {
        found.push_back({level::note, "version", one.label,
                         "a crash during a compaction can set its revisions, and so fences, back",
                         "run etcd 3.4.32, 3.5.13 or later"});
    }
    if (one.leader == 0) {
        found.push_back({level::unsafe, "leader", one.label,
                         "it knows no leader: nothing is granted",
                         "see that a majority of the members runs and is connected"});
    }
    for (const std::string& alarm : one.alarms) {
        found.push_back({level::unsafe, "alarm", one.label, alarm,
                         "etcdctl alarm list; compact, defragment, etcdctl alarm disarm"});
    }
}

void examine_cluster(const etcd::cluster_report& seen, findings& found) {
    std::set<std::uint64_t> leaders;
    std::size_t answering = 0;
    for (const auto& one : seen.servers) {
        if (!one) continue;
        ++answering;
        leaders.insert(one->leader);
    }
    if (leaders.size() > 1) {
        found.push_back({level::note, "leader", "", "the servers name different leaders",
                         "ask again: there may be an election now"});
    }
    if (seen.members == 1) {
        found.push_back({level::note, "quorum", "",
                         "the cluster has one member: while it is down, nothing is granted",
                         "three members outlive the loss of one"});
    } else if (seen.members > 1) {
        found.push_back({level::good, "quorum", "",
                         fmt::format("{} members, {} of {} named here answer", seen.members,
                                     answering, seen.servers.size()),
                         ""});
    }
    if (seen.members > seen.servers.size()) {
        found.push_back(
            {level::note, "quorum", "",
             fmt::format("the URL names {} of {} members", seen.servers.size(), seen.members),
             "name them all, so that any one may be down"});
    }
    if (seen.write_time == duration::zero()) return;
    const auto took = std::chrono::duration<double, std::milli>(seen.write_time).count();
    const bool slow = seen.write_time > slow_write;
    found.push_back({slow ? level::note : level::good, "disk", "",
                     fmt::format("a write that a majority keeps took {:.1f} ms", took),
                     slow ? "every acquire and release is one: give etcd a disk of its own" : ""});
}

}  // namespace

findings examine_etcd(const url& where) {
    const auto options = detail::read_etcd_url(where);
    if (!options) return {};
    findings found;
    const auto seen =
        etcd::report_on(*options, system_clock(), system_clock().now() + etcd_patience);
    if (!seen) return {{level::unsafe, "server", "", seen.error().detail, ""}};
    for (const auto& one : seen->servers) {
        if (one) {
            examine_server(*one, found);
        } else {
            found.push_back({level::note, "server", "", one.error().detail,
                             "see that it runs, and that this machine reaches it"});
        }
    }
    examine_cluster(*seen, found);
    if (!options->tls && std::ranges::any_of(options->servers, [](const etcd::etcd_endpoint& at) {
            return at.host != "localhost" && at.host != "::1" && !at.host.starts_with("127.");
        })) {
        found.push_back({level::note, "tls", "", "leases and passwords travel in the clear",
                         "write etcds: and let the servers have certificates"});
    }
    return found;
}

}  // namespace holdfast::app
