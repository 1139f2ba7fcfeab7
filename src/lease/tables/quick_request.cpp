// SPDX-License-Identifier: Apache-2.0
#include "lease/tables/quick_request.hpp"

#include "core/overloaded.hpp"

#include <algorithm>

namespace holdfast::sql {
namespace {

// Of a waiter's place, this much may be used up before a look writes it anew.
constexpr std::int64_t stale_place = name_book::place / 2;

}  // namespace

quick_request::quick_request(const lease_request& asked, const listener_id& self,
                             name_memory::state seen)
    : asked_(asked), seen_at_(seen) {
    std::visit([&](const auto& one) { prepare(one, self); }, asked);
}

void quick_request::prepare(const ask::acquire& asked, const listener_id& self) {
    if (asked.ticket.value != 0) {
        if (asked.barge) return;
        what_ = sentence::look;
        values_ = {asked.name.value(), asked.owner.value(), self.process};
        count_ = 3;
        reader_ = [this](const row& found) { see(found); };
        return;
    }
    if (asked.mode.type != lease_mode::kind::exclusive) return;
    what_ = seen_at_ == name_memory::state::gate ? sentence::take_gate : sentence::take;
    values_ = {asked.name.value(), asked.owner.value(),
               micros(asked.ttl),  std::int64_t{asked.spare_fences},
               self.process,       self.number};
    count_ = 6;
}

void quick_request::prepare(const ask::renew& asked, const listener_id& /*self*/) {
    what_ = sentence::extend;
    values_ = {asked.name.value(), asked.owner.value(), micros(asked.ttl)};
    count_ = 3;
}

void quick_request::prepare(const ask::release& asked, const listener_id& /*self*/) {
    what_ = sentence::release_free;
    values_ = {asked.name.value(), asked.owner.value()};
    count_ = 2;
}

call quick_request::statement() const noexcept {
    return {.what = what_,
            .values = std::span(values_).first(count_),
            .reader = reader_ ? &reader_ : nullptr};
}

std::optional<lease_reply> quick_request::outcome(const call& ran) const {
    if (what_ == sentence::look) {
        return seen_ ? std::optional<lease_reply>(*seen_) : std::nullopt;
    }
    if (ran.rows == 0) return std::nullopt;
    return std::visit(
        detail::overloaded{
            [&](const ask::acquire& asked) -> lease_reply {
                return answer::granted{{static_cast<std::uint64_t>(ran.told)}, asked.ttl};
            },
            [](const ask::renew& asked) -> lease_reply { return answer::renewed{asked.ttl}; },
            [](const auto& /*asked*/) -> lease_reply { return answer::released{true}; },
        },
        asked_);
}

// A waiter's look: nothing is due, and its place is fresh.
void quick_request::see(const row& found) {
    const std::int64_t now = found.number(0);
    const std::int64_t due = found.number(1);
    if (due <= now || found.number(4) - now < stale_place) return;
    const auto ahead = static_cast<std::uint32_t>(found.number(6));
    std::int64_t after = std::min(due - now, longest_poll);
    if (found.number(7) > 0) {
        after = std::min(after, pause_before_poll(now - found.number(5), ahead));
    }
    seen_ =
        answer::busy{.poll_after = std::chrono::microseconds(std::max<std::int64_t>(after, 1000)),
                     .ahead = ahead,
                     .ticket = {static_cast<std::uint64_t>(found.number(3))},
                     .latest = {static_cast<std::uint64_t>(found.number(2))}};
}

}  // namespace holdfast::sql
