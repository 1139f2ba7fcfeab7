// SPDX-License-Identifier: Apache-2.0
#include "driver/etcd/etcd_report.hpp"

#include "driver/etcd/etcd_client.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::etcd {
namespace {

server_report read_report(const std::string& label, const wire::StatusResponse& said) {
    return {.label = label,
            .version = said.version(),
            .member = said.header().member_id(),
            .leader = said.leader(),
            .revision = said.header().revision(),
            .stored_bytes = said.dbsize(),
            .alarms = {said.errors().begin(), said.errors().end()}};
}

// To grant a lease is a write like any other. The quickest of some: the first one connects.
duration time_a_write(etcd_client& client, time_point give_up) {
    duration best = duration::max();
    for (int i = 0; i < 3; ++i) {
        const time_point before = client.time().now();
        const auto granted = client.grant(60, give_up).wait();
        if (!granted.value) return duration::zero();
        best = std::min(best, client.time().now() - before);
        static_cast<void>(client.revoke(granted.value->id(), give_up).wait());
    }
    return best;
}

}  // namespace

result<cluster_report> report_on(const etcd_options& options, clock& time, time_point give_up) {
    const auto client = etcd_client::make(options, time);
    if (!client) return std::unexpected(client.error());
    cluster_report report;
    std::vector<pending<called<wire::StatusResponse>>> asked;
    for (std::size_t i = 0; i < (*client)->servers(); ++i) {
        asked.push_back((*client)->status(i, give_up));
    }
    for (std::size_t i = 0; i < asked.size(); ++i) {
        auto said = asked[i].wait();
        if (said.value) {
            report.servers.emplace_back(read_report((*client)->label(i), *said.value));
        } else {
            report.servers.emplace_back(std::unexpected(std::move(said.value.error())));
        }
    }
    const auto members = (*client)->members(give_up).wait();
    if (members.value) report.members = static_cast<std::size_t>(members.value->members_size());
    report.write_time = time_a_write(**client, give_up);
    (*client)->close();
    return report;
}

}  // namespace holdfast::etcd
