// SPDX-License-Identifier: Apache-2.0
//
// Who holds what, for people: list() and inspect() of sql_lease_store.
#include "lease/tables/sql_lease_store.hpp"
#include "lease/tables/sql_statements.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace holdfast::sql {
namespace {

constexpr std::size_t most_holders = 200;

wall_time at(std::int64_t micros) {
    return wall_time(std::chrono::microseconds(micros));
}

/// Reads labels, each once.
class label_reader {
public:
    explicit label_reader(connection& db) : db_(db) {}

    client_label of(const std::string& owner) {
        const std::string id = owner.substr(0, 12);
        if (const auto known = seen_.find(id); known != seen_.end()) return known->second;
        client_label found;
        const std::array<value, 1> values{id};
        static_cast<void>(db_.run(sentence::client, values, [&](const row& one) {
            found = {std::string(one.text(0)), one.number(1), std::string(one.text(2))};
        }));
        return seen_.emplace(id, std::move(found)).first->second;
    }

    std::string note_of(const std::string& owner) {
        std::string found;
        const std::array<value, 1> values{owner};
        static_cast<void>(db_.run(sentence::read_note, values,
                                  [&](const row& one) { found = std::string(one.text(0)); }));
        return found;
    }

private:
    connection& db_;
    std::map<std::string, client_label> seen_;
};

void add_holder(lease_info& info, const party& p, std::int64_t now, label_reader& labels) {
    const duration remaining = std::chrono::microseconds(p.until - now);
    info.fence = std::max(info.fence, fencing_token{static_cast<std::uint64_t>(p.fence)});
    info.remaining = std::max(info.remaining.value_or(remaining), remaining);
    const bool first = info.mode.permits == 0;
    const std::uint32_t before = info.mode.permits;
    info.mode = {p.mode.type, p.mode.permits, first ? p.mode.limit : info.mode.limit};
    if (p.mode.type == lease_mode::kind::permit) info.mode.permits += before;
    if (info.holders.size() >= most_holders) return;
    info.holders.push_back({.who = labels.of(p.owner),
                            .since = at(p.since),
                            .fence = {static_cast<std::uint64_t>(p.fence)},
                            .remaining = remaining,
                            .permits = p.mode.permits,
                            .client = p.owner.substr(0, 12),
                            .note = labels.note_of(p.owner)});
}

lease_info described(const std::string& name, std::int64_t now, std::vector<party> all,
                     label_reader& labels) {
    lease_info info;
    info.name = name;
    info.mode.permits = 0;
    std::ranges::sort(all, {}, [](const party& p) { return std::pair(p.ticket, p.since); });
    for (const party& p : all) {
        if (p.until <= now) continue;
        if (p.at == stand::holds) add_holder(info, p, now, labels);
        if (p.at != stand::waits) continue;
        ++info.waiters;
        info.queue.push_back({.who = labels.of(p.owner),
                              .since = at(p.since),
                              .mode = p.mode,
                              .client = p.owner.substr(0, 12)});
    }
    if (info.mode.permits == 0) info.mode = {};
    const auto size = std::ranges::find(all, stand::resized, &party::at);
    if (size != all.end() && size->until > now) {
        info.resized = size->mode.limit;
        if (info.mode.type == lease_mode::kind::permit) info.mode.limit = size->mode.limit;
    }
    return info;
}

result<std::vector<lease_info>> read_infos(connection& db, std::string_view from,
                                           std::string_view before) {
    struct gate {
        std::string name;
        std::vector<party> parties;
        bool crowd;
    };
    std::int64_t now = 0;
    std::vector<gate> gates;
    const std::array<value, 2> range{from, before};
    auto read = db.run(sentence::list_gates, range, [&](const row& one) {
        now = one.number(0);
        gate& next = gates.emplace_back(gate{std::string(one.text(1)), {}, one.number(6) != 0});
        if (next.crowd) return;
        next.parties.push_back({.owner = std::string(one.text(2)),
                                .fence = one.number(3),
                                .until = one.number(4),
                                .since = one.number(5)});
    });
    if (!read) return std::unexpected(read.error());
    label_reader labels(db);
    std::vector<lease_info> infos;
    for (gate& one : gates) {
        if (one.crowd) {
            const std::array<value, 1> values{one.name};
            read = db.run(sentence::parties, values,
                          [&](const row& p) { one.parties.push_back(read_party(p)); });
            if (!read) return std::unexpected(read.error());
        }
        infos.push_back(described(one.name, now, std::move(one.parties), labels));
    }
    return infos;
}

}  // namespace

// No byte of a name is 0xFF, so all names with the prefix stand before this.
result<std::vector<lease_info>> sql_lease_store::list(std::string_view prefix, time_point give_up) {
    auto mine = enter(give_up);
    if (!mine) return std::unexpected(std::move(mine.error()));
    std::string before(prefix);
    before += '\xFF';
    auto infos = read_infos(*db_, prefix, before);
    if (!infos) return infos;
    std::erase_if(*infos, [](const lease_info& info) { return info.holders.empty(); });
    for (lease_info& info : *infos) {
        info.queue.clear();
        info.resized.reset();
    }
    return infos;
}

result<std::optional<lease_info>> sql_lease_store::inspect(const lock_name& name,
                                                           time_point give_up) {
    auto mine = enter(give_up);
    if (!mine) return std::unexpected(std::move(mine.error()));
    std::string before = name.value();
    before += '\x01';  // no control character is in a name: nothing stands between
    auto infos = read_infos(*db_, name.value(), before);
    if (!infos) return std::unexpected(std::move(infos.error()));
    for (lease_info& info : *infos) {
        if (info.holders.empty() && info.queue.empty()) continue;
        return std::optional<lease_info>(std::move(info));
    }
    return std::optional<lease_info>();
}

result<std::vector<eviction_info>> sql_lease_store::evictions(const lock_name& name,
                                                              time_point give_up) {
    auto mine = enter(give_up);
    if (!mine) return std::unexpected(std::move(mine.error()));
    const std::array<value, 1> values{name.value()};
    std::int64_t now = 0;
    auto read = db_->run(sentence::gate, values, [&](const row& one) { now = one.number(0); });
    std::vector<eviction_info> found;
    if (read) {
        read = db_->run(sentence::parties, values, [&](const row& one) {
            party p = read_party(one);
            if (p.at != stand::evicted || p.until <= now) return;
            found.push_back({p.owner.substr(0, 12), std::move(p.reason)});
        });
    }
    if (!read) return std::unexpected(read.error());
    return found;
}

}  // namespace holdfast::sql
