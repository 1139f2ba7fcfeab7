// SPDX-License-Identifier: Apache-2.0
//
// What clients and holders say of themselves, for people: sql_lease_store writes it by the way of a
// request.
#include "core/overloaded.hpp"
#include "lease/tables/sql_lease_store.hpp"
#include "lease/tables/sql_statements.hpp"

#include <array>

namespace holdfast::sql {
namespace {

using namespace std::chrono_literals;

// A client's label is written anew once an hour, and forgotten when it could hold nothing any more.
constexpr duration label_pause = 1h;
constexpr std::chrono::microseconds label_life = 48h;

}  // namespace

void sql_lease_store::introduce(const client_id& id, const client_label& who) {
    const std::scoped_lock guard(introduction_mutex_);
    introduction_ = {id.value(), who};
}

// By the way of a request, which does not fail because of it: it is only for people.
void sql_lease_store::write_introduction(visit& at) {
    const time_point now = clock_.now();
    introduction mine;
    {
        const std::scoped_lock guard(introduction_mutex_);
        const bool recent = introduced_ != time_point::min() && now - introduced_ < label_pause;
        if (!introduction_ || recent) return;
        introduced_ = now;
        mine = *introduction_;
    }
    const std::array<value, 4> label{mine.id, mine.who.host, mine.who.pid, mine.who.program};
    const std::array<value, 1> old{std::int64_t{label_life.count()}};
    if (at.db->run(sentence::introduce, label, [](const row&) {})) {
        static_cast<void>(at.db->run(sentence::forget_clients, old, [](const row&) {}));
        return;
    }
    const std::scoped_lock guard(introduction_mutex_);
    introduced_ = time_point::min();
}

// As the introduction: no request fails because of it.
void sql_lease_store::keep_note(visit& at, const lease_request& request,
                                const result<lease_reply>& answer) {
    const row_reader unread = [](const row&) {};
    const auto forget = [&](const auto& ended) {
        const std::array<value, 1> values{ended.owner.value()};
        static_cast<void>(at.db->run(sentence::drop_note, values, unread));
    };
    const auto write = [&](const auto& asked) {
        const bool kept = answer && (std::holds_alternative<answer::granted>(*answer) ||
                                     std::holds_alternative<answer::renewed>(*answer));
        if (!asked.note.is_set() || !kept) return;
        if (asked.note.value().empty()) return forget(asked);
        const std::array<value, 3> values{asked.owner.value(), asked.note.value(),
                                          micros(asked.ttl)};
        static_cast<void>(at.db->run(sentence::put_note, values, unread));
    };
    std::visit(detail::overloaded{
                   [&](const ask::acquire& asked) { write(asked); },
                   [&](const ask::renew& asked) { write(asked); },
                   [&](const auto& ended) {
                       if (ended.has_note) forget(ended);
                   },
               },
               request);
}

}  // namespace holdfast::sql
