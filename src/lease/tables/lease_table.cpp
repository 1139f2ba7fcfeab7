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

const row_reader no_rows = [](const row&) {};

// Of a waiter's place, this much may be used up before a look writes it anew.
constexpr std::int64_t stale_place = name_book::place / 2;

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

result<std::optional<answer::granted>> lease_table::take(const ask::acquire& asked,
                                                         const listener_id& self) {
    const std::array<value, 6> values{asked.name.value(), asked.owner.value(),
                                      micros(asked.ttl),  std::int64_t{asked.spare_fences},
                                      self.process,       self.number};
    const auto done = db_.run(sentence::take, values, no_rows);
    if (!done) return std::unexpected(done.error());
    if (*done == 0) return std::optional<answer::granted>();
    return answer::granted{{static_cast<std::uint64_t>(db_.told())}, asked.ttl};
}

result<std::optional<answer::renewed>> lease_table::extend(const ask::renew& asked) {
    const std::array<value, 3> values{asked.name.value(), asked.owner.value(), micros(asked.ttl)};
    const auto done = db_.run(sentence::extend, values, no_rows);
    if (!done) return std::unexpected(done.error());
    if (*done == 0) return std::optional<answer::renewed>();
    return answer::renewed{asked.ttl};
}

result<std::optional<answer::released>> lease_table::release_free(const ask::release& asked) {
    const std::array<value, 2> values{asked.name.value(), asked.owner.value()};
    const auto done = db_.run(sentence::release_free, values, no_rows);
    if (!done) return std::unexpected(done.error());
    if (*done == 0) return std::optional<answer::released>();
    return answer::released{true};
}

result<std::optional<answer::busy>> lease_table::look(const ask::acquire& asked,
                                                      const listener_id& self) {
    const std::array<value, 3> values{asked.name.value(), asked.owner.value(), self.process};
    std::optional<answer::busy> seen;
    const auto done = db_.run(sentence::look, values, [&](const row& found) {
        const std::int64_t now = found.number(0);
        const std::int64_t due = found.number(1);
        if (due <= now || found.number(4) - now < stale_place) return;
        const auto ahead = static_cast<std::uint32_t>(found.number(6));
        std::int64_t after = std::min(due - now, longest_poll);
        if (found.number(7) > 0) {
            after = std::min(after, pause_before_poll(now - found.number(5), ahead));
        }
        seen = answer::busy{
            .poll_after = std::chrono::microseconds(std::max<std::int64_t>(after, 1000)),
            .ahead = ahead,
            .ticket = {static_cast<std::uint64_t>(found.number(3))},
            .latest = {static_cast<std::uint64_t>(found.number(2))}};
    });
    if (!done) return std::unexpected(done.error());
    return seen;
}

result<name_book> lease_table::load(std::string_view name, const hearing_check& hears) {
    const std::array<value, 1> values{name};
    std::int64_t now = 0;
    std::int64_t top = 0;
    bool crowd = false;
    std::vector<party> all;
    auto done = db_.run(sentence::gate, values, [&](const row& gate) {
        now = gate.number(0);
        if (gate.is_null(3)) return;
        top = gate.number(3);
        crowd = gate.number(8) != 0;
        if (crowd || gate.text(1).empty()) return;
        all.push_back({.owner = std::string(gate.text(1)),
                       .fence = gate.number(2),
                       .until = gate.number(4),
                       .since = gate.number(5),
                       .listener = {gate.number(6), gate.number(7)}});
    });
    if (done && crowd) {
        done = db_.run(sentence::parties, values,
                       [&](const row& one) { all.push_back(read_party(one)); });
    }
    if (!done) return std::unexpected(done.error());
    return name_book(now, top, std::move(all), hears);
}

// Rows are deleted before others are written: an owner that was dropped may have come back.
result<void> lease_table::save(std::string_view name, name_book& book) {
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
        if (const auto done = db_.run(sentence::drop_party, values, no_rows); !done) {
            return std::unexpected(done.error());
        }
    }
    if (left == 0 && book.top() < book.now()) {
        const std::array<value, 1> values{name};
        const auto done = db_.run(sentence::drop_gate, values, no_rows);
        return done ? result<void>() : std::unexpected(done.error());
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
    const auto done = db_.run(sentence::put_gate, values, no_rows);
    return done ? result<void>() : std::unexpected(done.error());
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
    const auto done = db_.run(sentence::put_party, values, no_rows);
    return done ? result<void>() : std::unexpected(done.error());
}

}  // namespace holdfast::sql
