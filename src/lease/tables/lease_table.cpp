// SPDX-License-Identifier: Apache-2.0
#include "lease/tables/lease_table.hpp"

#include "lease/tables/sql_statements.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

namespace holdfast::sql {
namespace {

// What the row of a name says.
struct gate_row {
    bool there = false;
    std::int64_t now = 0;
    std::int64_t top = 0;
    bool crowd = false;
    std::vector<party> holder = {};

    void read(const row& from) {
        there = true;
        now = from.number(0);
        if (from.is_null(3)) return;
        top = from.number(3);
        crowd = from.number(8) != 0;
        if (crowd || from.text(1).empty()) return;
        holder.push_back({.owner = std::string(from.text(1)),
                          .fence = from.number(2),
                          .until = from.number(4),
                          .since = from.number(5),
                          .listener = {from.number(6), from.number(7)}});
    }
};

}  // namespace

party read_party(const row& from) {
    party p;
    p.owner = from.text(0);
    p.at = static_cast<stand>(from.number(1));
    p.mode = {static_cast<lease_mode::kind>(from.number(2)),
              static_cast<std::uint32_t>(from.number(3)),
              static_cast<std::uint32_t>(from.number(4))};
    p.fence = from.number(5);
    p.until = from.number(6);
    p.since = from.number(7);
    p.ticket = from.number(8);
    p.claim = from.number(9);
    p.spare = from.number(10);
    p.listener = {from.number(11), from.number(12)};
    p.reason = from.text(13);
    p.stored = true;
    return p;
}

// The second statement sees what the first one's lock has made sure of. A server is asked both at
// once: a trip costs more than a statement that finds nothing.
result<name_book> lease_table::load(std::string_view name, const hearing_check& hears,
                                    wake_reach reach) {
    const std::array<value, 1> values{name};
    gate_row gate;
    std::vector<party> all;
    const row_reader read_gate = [&](const row& from) { gate.read(from); };
    const row_reader read_all = [&](const row& one) { all.push_back(read_party(one)); };
    std::array<call, 2> both{call{sentence::gate, values, &read_gate},
                             call{sentence::parties, values, &read_all}};
    auto done = db_.run_all(std::span(both).first(db_.is_remote() ? 2 : 1));
    if (done && gate.crowd && !db_.is_remote()) done = db_.run_all(std::span(both).last(1));
    if (!done) return std::unexpected(std::move(done.error()));
    if (!gate.there) {
        return fail(
            errc::corrupt,
            "holdfast_meta has no row: somebody emptied the table; nothing is granted until "
            "the tables are dropped and made again");
    }
    return name_book(gate.now, gate.top, std::move(gate.crowd ? all : gate.holder), hears, reach);
}

// Rows are deleted before others are written: an owner that was dropped may have come back.
result<void> lease_table::save(std::string_view name, name_book& book, free_gate then) {
    const party* alone = nullptr;
    std::size_t left = 0;
    std::int64_t due = std::numeric_limits<std::int64_t>::max();
    bool held = false;
    for (const party& p : book.parties()) {
        if (p.gone) continue;
        ++left;
        alone = &p;
        if (p.at != stand::holds && p.at != stand::resized) continue;
        held = held || p.at == stand::holds;
        due = std::min(due, p.until);
    }
    // Nothing happens here before that, unless somebody waits for a name that nobody holds.
    const bool quiet = held || (left == 1 && alone->at == stand::resized);
    const bool simple = left == 0 || (left == 1 && alone->at == stand::holds &&
                                      alone->mode.type == lease_mode::kind::exclusive);
    for (const party& p : book.parties()) {
        if (!p.stored || !(p.gone || simple)) continue;
        const std::array<value, 2> values{name, p.owner};
        if (auto done = db_.write(sentence::drop_party, values); !done) return done;
    }
    // What is ahead of the clock keeps its fences from going back.
    const bool keeps = (db_.is_remote() && then == free_gate::stays) || book.top() >= book.now();
    if (left == 0 && !keeps) {
        const std::array<value, 1> values{name};
        return db_.write(sentence::drop_gate, values);
    }
    if (simple) return put_gate(name, book, left == 0 ? nullptr : alone, 0, false);
    for (const party& p : book.parties()) {
        if (p.gone || (p.stored && !p.changed)) continue;
        if (const auto done = put_party(name, p); !done) return done;
    }
    return put_gate(name, book, nullptr, quiet ? due : 0, true);
}

result<void> lease_table::put_gate(std::string_view name, const name_book& book, const party* alone,
                                   std::int64_t due, bool crowd) {
    static const party nobody;
    const party& who = alone != nullptr ? *alone : nobody;
    const std::array<value, 9> values{name,
                                      who.owner,
                                      who.fence,
                                      book.top(),
                                      alone != nullptr ? who.until : due,
                                      who.since,
                                      who.listener.process,
                                      who.listener.number,
                                      std::int64_t{crowd ? 1 : 0}};
    return db_.write(sentence::put_gate, values);
}

result<void> lease_table::put_party(std::string_view name, const party& who) {
    const std::array<value, 15> values{name,
                                       who.owner,
                                       static_cast<std::int64_t>(who.at),
                                       static_cast<std::int64_t>(who.mode.type),
                                       std::int64_t{who.mode.permits},
                                       std::int64_t{who.mode.limit},
                                       who.fence,
                                       who.until,
                                       who.since,
                                       who.ticket,
                                       who.claim,
                                       who.spare,
                                       who.listener.process,
                                       who.listener.number,
                                       who.reason};
    return db_.write(sentence::put_party, values);
}

}  // namespace holdfast::sql
