// SPDX-License-Identifier: Apache-2.0
//
// Nothing expires by itself in a table: sql_lease_store looks at a few names by the way of a
// request, and deletes what is over.
#include "lease/tables/sql_lease_store.hpp"
#include "lease/tables/sql_statements.hpp"

#include <array>

namespace holdfast::sql {
namespace {

constexpr duration sweep_pause = std::chrono::seconds(5);
constexpr std::int64_t sweep_size = 256;
// On a server, a gate that was taken so recently stays: it may be taken again.
constexpr std::int64_t kept_for = 30'000'000;

}  // namespace

void sql_lease_store::sweep_some(visit& at) {
    const std::unique_lock mine(sweep_mutex_, std::try_to_lock);
    if (!mine.owns_lock()) return;
    const time_point now = clock_.now();
    if (swept_ == time_point::min()) swept_ = now;
    if (now - swept_ < sweep_pause) return;
    swept_ = now;
    static_cast<void>(at.db->run(sentence::forget_notes, {}, [](const row&) {}));
    static_cast<void>(sweep_next(at, sweep_size, kept_for));
}

// Looks at the next names in order; answers whether there are more. What is over is settled: its
// dead are dropped, and its rows deleted if nobody is left.
result<bool> sql_lease_store::sweep_next(visit& at, std::int64_t most, std::int64_t kept) {
    const std::string after = sweep_after_;
    const std::array<value, 2> values{after, most};
    std::int64_t seen = 0;
    bool free = false;
    std::string last;
    std::vector<std::string> over;
    const auto read = at.db->run(sentence::sweep, values, [&](const row& one) {
        ++seen;
        last = one.text(1);
        if (one.number(2) > one.number(0)) return;
        if (at.db->is_remote() && one.number(3) == 0) {
            free = true;
        } else {
            over.push_back(last);
        }
    });
    if (!read) return std::unexpected(read.error());
    sweep_after_ = seen == most ? last : std::string();
    if (free) {
        const std::array<value, 3> range{after, last, kept};
        auto swept = at.db->run(sentence::sweep_free, range, [](const row&) {});
        for (int again = 0; !swept && at.db->lost_conflict() && again < 3; ++again) {
            swept = at.db->run(sentence::sweep_free, range, [](const row&) {});
        }
        if (!swept) return std::unexpected(swept.error());
    }
    if (auto settled = settle_names(at, over); !settled) {
        return std::unexpected(std::move(settled.error()));
    }
    return !sweep_after_.empty();
}

// On a server each in a transaction of its own, or this one would keep the locks of all of them.
result<void> sql_lease_store::settle_names(visit& at, const std::vector<std::string>& names) {
    const auto settle = [&](const std::string& name) {
        return change(
            at, name,
            [](name_book& book) -> result<lease_reply> {
                book.settle();
                return lease_reply();
            },
            lease_table::free_gate::goes);
    };
    if (names.empty()) return {};
    if (at.db->is_remote()) {
        for (const std::string& name : names) {
            const auto done = transact<lease_reply>(at, [&] { return settle(name); });
            if (!done) return std::unexpected(done.error());
        }
        return {};
    }
    const auto done = transact<lease_reply>(at, [&]() -> result<lease_reply> {
        for (const std::string& name : names) {
            if (auto settled = settle(name); !settled) return settled;
        }
        return lease_reply();
    });
    return done ? result<void>() : std::unexpected(done.error());
}

result<void> sql_lease_store::sweep_all(time_point give_up) {
    std::vector<note> notes;
    {
        auto mine = enter(give_up);
        if (!mine) return std::unexpected(std::move(mine.error()));
        const std::scoped_lock sweeping(sweep_mutex_);
        sweep_after_.clear();
        for (bool more = true; more;) {
            const auto next = sweep_next(*mine, sweep_size, 0);
            if (!next) return std::unexpected(next.error());
            more = *next;
        }
        notes = std::move(mine->notes);
    }
    tell(notes);
    return {};
}

}  // namespace holdfast::sql
