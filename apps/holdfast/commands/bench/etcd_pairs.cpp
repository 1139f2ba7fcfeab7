// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/etcd_pairs.hpp"

#include "commands/bench/pair_threads.hpp"
#include "driver/etcd/etcd_client.hpp"
#include "driver/etcd/etcd_requests.hpp"
#include "open/etcd_url.hpp"

#include <fmt/format.h>

#include <string>

namespace holdfast::bench {
namespace {

constexpr duration answered_within = std::chrono::seconds(10);
constexpr std::int64_t lease_seconds = 300;

// Answers whether it was done.
bool run_txn(etcd::etcd_client& client, const etcd::wire::Compare& only_if,
             etcd::wire::RequestOp then) {
    etcd::wire::TxnRequest request;
    *request.add_compare() = only_if;
    *request.add_success() = std::move(then);
    const auto said = client.txn(std::move(request), system_clock().now() + answered_within).wait();
    return said.value && said.value->succeeded();
}

void pairs_by_hand_in_etcd(const etcd::etcd_options& options, int id, worker_log& log,
                           turns& mine) {
    const auto client = etcd::etcd_client::make(options, system_clock());
    if (!client) return log.failed(client.error().detail);
    etcd::etcd_client& on = **client;
    const auto lease = on.grant(lease_seconds, system_clock().now() + answered_within).wait();
    if (!lease.value) return log.failed(lease.value.error().detail);
    const std::string key = fmt::format("{}.bench/{}", options.root, id);
    while (const auto start = mine.next()) {
        if (!run_txn(on, etcd::absent(key), etcd::put(key, "", lease.value->id()))) {
            return log.failed("the key was there");
        }
        const time_point got = system_clock().now();
        auto exists = etcd::absent(key);
        exists.set_result(etcd::wire::Compare::NOT_EQUAL);
        if (!run_txn(on, exists, etcd::remove(key))) return log.failed("the key was gone");
        log.time(got - *start, system_clock().now() - got);
    }
    static_cast<void>(on.revoke(lease.value->id(), system_clock().now() + answered_within).wait());
    on.close();
}

}  // namespace

result<pairs_result> pairs_by_etcd(const std::string& url, const pairs_options& options) {
    const auto where = parse_url(url);
    if (!where) return std::unexpected(where.error());
    const auto read = detail::read_etcd_url(*where);
    if (!read) return std::unexpected(read.error());
    return on_threads("etcd by hand", options, [&](int id, worker_log& log, turns& mine) {
        pairs_by_hand_in_etcd(*read, id, log, mine);
    });
}

}  // namespace holdfast::bench
