// SPDX-License-Identifier: Apache-2.0
#include "lease/tables/sql_lease_store.hpp"

#include "core/overloaded.hpp"
#include "core/permit_bounds.hpp"
#include "core/require.hpp"
#include "lease/tables/sql_statements.hpp"
#include "runtime/fork_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace holdfast::sql {
namespace {

using namespace std::chrono_literals;

// So many requests of a batch travel in one transaction; others may write in between.
constexpr std::size_t largest_transaction = 256;

constexpr duration sweep_pause = 5s;
constexpr std::int64_t sweep_size = 256;

// A client's label is written anew once an hour, and forgotten when it could hold nothing any more.
constexpr duration label_pause = 1h;
constexpr std::chrono::microseconds label_life = 48h;

const std::string& name_of(const lease_request& request) {
    return std::visit([](const auto& asked) -> const std::string& { return asked.name.value(); },
                      request);
}

std::optional<error> unfit(const lease_request& request) {
    const lease_mode mode = std::visit([](const auto& asked) { return asked.mode; }, request);
    if (mode.type != lease_mode::kind::permit) return std::nullopt;
    return detail::unfit_permits(mode);
}

}  // namespace

sql_lease_store::sql_lease_store(std::unique_ptr<connection> to, clock& time)
    : clock_(time),
      db_(std::move(to)),
      table_(*db_),
      turn_(time),
      generation_(detail::fork_generation()),
      lane_([this](auto requests, auto replies, time_point give_up) {
          exchange(requests, replies, give_up);
      }) {
    db_->announce(listener_.id().process);
}

// A child of fork() leaves the connection where it is: using or closing it would disturb its
// parent's. It has no thread to join.
sql_lease_store::~sql_lease_store() {
    if (detail::fork_generation() != generation_) {
        static_cast<void>(db_.release());
        lane_.forget();
    }
}

capabilities sql_lease_store::can() const noexcept {
    return {.shared = true,
            .permits = true,
            .resize = true,
            .fencing = true,
            .fair = true,
            .pushes = true,
            .listing = true};
}

void sql_lease_store::on_push(push_handler handler) {
    listener_.on_push(std::move(handler));
}

result<turn::held> sql_lease_store::enter(time_point give_up) {
    if (detail::fork_generation() != generation_) {
        return fail(errc::invalid_argument,
                    "this is a child of the process that opened the database: open it again");
    }
    auto mine = turn_.enter(give_up);
    if (!mine) {
        return fail(errc::unavailable,
                    "the database did not answer others of this process in time");
    }
    if (const auto fit = db_->ready(give_up); !fit) return std::unexpected(fit.error());
    return std::move(*mine);
}

void sql_lease_store::exchange(std::span<const lease_request> requests,
                               std::span<result<lease_reply>> replies, time_point give_up) {
    detail::require(replies.size() == requests.size(), "replies.size() == requests.size()");
    std::vector<note> notes;
    for (std::size_t at = 0; at < requests.size(); at += largest_transaction) {
        const std::size_t count = std::min(largest_transaction, requests.size() - at);
        auto mine = enter(give_up);
        if (!mine) {
            std::ranges::fill(replies.subspan(at), std::unexpected(mine.error()));
            break;
        }
        write_introduction();
        if (count == 1) {
            replies[at] = serve(requests[at], false);
        } else {
            serve_batch(requests.subspan(at, count), replies.subspan(at, count));
        }
        std::ranges::move(take_notes(), std::back_inserter(notes));
        sweep_some();
        std::ranges::move(take_notes(), std::back_inserter(notes));
    }
    tell(notes);
}

std::vector<note> sql_lease_store::take_notes() {
    return std::exchange(notes_, {});
}

template <class T>
result<T> sql_lease_store::transact(const std::function<result<T>()>& act) {
    const std::size_t told = notes_.size();
    auto done = [&]() -> result<T> {
        if (auto begun = db_->begin(); !begun) return std::unexpected(std::move(begun.error()));
        auto answer = act();
        if (!answer) {
            db_->roll_back();
            return answer;
        }
        if (auto kept = db_->commit(); !kept) return std::unexpected(std::move(kept.error()));
        return answer;
    }();
    if (!done) notes_.erase(notes_.begin() + static_cast<std::ptrdiff_t>(told), notes_.end());
    return done;
}

void sql_lease_store::serve_batch(std::span<const lease_request> requests,
                                  std::span<result<lease_reply>> replies) {
    // A refusal is a request's own outcome; what the database could not do undoes the whole batch.
    const auto done = transact<std::size_t>([&]() -> result<std::size_t> {
        for (std::size_t i = 0; i < requests.size(); ++i) {
            replies[i] = serve(requests[i], true);
            if (replies[i]) continue;
            const errc why = replies[i].error().code;
            if (why == errc::busy || why == errc::invalid_argument) continue;
            return std::unexpected(replies[i].error());
        }
        return requests.size();
    });
    if (!done) std::ranges::fill(replies, std::unexpected(done.error()));
}

result<lease_reply> sql_lease_store::serve(const lease_request& request, bool in_transaction) {
    if (const auto why = unfit(request)) return std::unexpected(*why);
    auto answer = decide(request, in_transaction);
    keep_note(request, answer);
    return answer;
}

result<lease_reply> sql_lease_store::decide(const lease_request& request, bool in_transaction) {
    auto quick = serve_quickly(request);
    if (!quick) return std::unexpected(std::move(quick.error()));
    if (*quick) return std::move(**quick);
    if (in_transaction) return serve_fully(request);
    return transact<lease_reply>([&] { return serve_fully(request); });
}

result<std::optional<lease_reply>> sql_lease_store::serve_quickly(const lease_request& request) {
    using outcome = result<std::optional<lease_reply>>;
    const auto widened = [](auto answer) -> outcome {
        if (!answer) return std::unexpected(std::move(answer.error()));
        if (!*answer) return std::optional<lease_reply>();
        return std::optional<lease_reply>(std::move(**answer));
    };
    return std::visit(
        detail::overloaded{
            [&](const ask::acquire& asked) -> outcome {
                if (asked.ticket.value != 0) {
                    return asked.barge ? outcome() : widened(table_.look(asked, listener_.id()));
                }
                if (asked.mode.type != lease_mode::kind::exclusive) return outcome();
                return widened(table_.take(asked, listener_.id()));
            },
            [&](const ask::renew& asked) { return widened(table_.extend(asked)); },
            [&](const ask::release& asked) { return widened(table_.release_free(asked)); },
            [&](const ask::leave&) { return outcome(); },
        },
        request);
}

result<lease_reply> sql_lease_store::serve_fully(const lease_request& request) {
    return change(name_of(request), [&](name_book& book) {
        return std::visit(
            detail::overloaded{
                [&](const ask::acquire& asked) { return book.acquire(asked, listener_.id()); },
                [&](const ask::renew& asked) { return result<lease_reply>(book.renew(asked)); },
                [&](const ask::release& asked) { return result<lease_reply>(book.release(asked)); },
                [&](const ask::leave& asked) { return result<lease_reply>(book.leave(asked)); },
            },
            request);
    });
}

// A waiter of a process that was killed is not waited for.
hearing sql_lease_store::hears(const listener_id& id) {
    const hearing where = where_is(id);
    if (where == hearing::elsewhere && !db_->may_live(id.process)) return hearing::gone;
    return where;
}

// A refusal is written back too: it may have dropped the dead.
result<lease_reply> sql_lease_store::change(
    std::string_view name, const std::function<result<lease_reply>(name_book&)>& decide) {
    auto book = table_.load(name, [this](const listener_id& id) { return hears(id); });
    if (!book) return std::unexpected(std::move(book.error()));
    auto answer = decide(*book);
    if (const auto saved = table_.save(name, *book); !saved) {
        return std::unexpected(saved.error());
    }
    notes_.insert(notes_.end(), book->notes().begin(), book->notes().end());
    return answer;
}

result<lease_reply> sql_lease_store::adopt(const lease_adoption& asked, time_point give_up) {
    lease_reply said;
    const auto done = change_now(
        asked.name, give_up, [&](name_book& book) { said = book.adopt(asked, listener_.id()); });
    if (!done) return std::unexpected(done.error());
    return said;
}

result<std::uint32_t> sql_lease_store::evict(const lock_name& name, std::string_view reason,
                                             time_point give_up) {
    constexpr std::size_t longest_reason = 1000;
    if (reason.size() > longest_reason || !is_utf8(reason)) {
        return fail(errc::invalid_argument,
                    fmt::format("reason: takes at most {} bytes of text", longest_reason));
    }
    std::uint32_t count = 0;
    const auto done =
        change_now(name, give_up, [&](name_book& book) { count = book.evict(reason); });
    if (!done) return std::unexpected(done.error());
    return count;
}

result<void> sql_lease_store::resize(const lock_name& name, std::uint32_t permits,
                                     time_point give_up) {
    if (auto why = detail::unfit_limit(permits)) return std::unexpected(std::move(*why));
    return change_now(name, give_up, [&](name_book& book) { book.resize(permits); });
}

result<void> sql_lease_store::change_now(const lock_name& name, time_point give_up,
                                         const std::function<void(name_book&)>& decide) {
    std::vector<note> notes;
    {
        auto mine = enter(give_up);
        if (!mine) return std::unexpected(std::move(mine.error()));
        const auto done = transact<lease_reply>([&] {
            return change(name.value(), [&](name_book& book) -> result<lease_reply> {
                decide(book);
                return lease_reply();
            });
        });
        if (!done) return std::unexpected(done.error());
        notes = take_notes();
    }
    tell(notes);
    return {};
}

result<wall_time> sql_lease_store::time_of_day(time_point give_up) {
    auto mine = enter(give_up);
    if (!mine) return std::unexpected(std::move(mine.error()));
    return db_->time_of_day();
}

void sql_lease_store::introduce(const client_id& id, const client_label& who) {
    const auto mine = turn_.enter(time_point::max());
    introduction_ = {id.value(), who};
}

// By the way of a request, which does not fail because of it: it is only for people.
void sql_lease_store::write_introduction() {
    const time_point now = clock_.now();
    if (!introduction_ || (introduced_ != time_point::min() && now - introduced_ < label_pause)) {
        return;
    }
    const client_label& who = introduction_->who;
    const std::array<value, 4> label{introduction_->id, who.host, who.pid, who.program};
    const std::array<value, 1> old{std::int64_t{label_life.count()}};
    if (!db_->run(sentence::introduce, label, [](const row&) {})) return;
    introduced_ = now;
    static_cast<void>(db_->run(sentence::forget_clients, old, [](const row&) {}));
}

// As the introduction: no request fails because of it.
void sql_lease_store::keep_note(const lease_request& request, const result<lease_reply>& answer) {
    const row_reader unread = [](const row&) {};
    const auto forget = [&](const auto& ended) {
        const std::array<value, 1> values{ended.owner.value()};
        static_cast<void>(db_->run(sentence::drop_note, values, unread));
    };
    const auto write = [&](const auto& asked) {
        const bool kept = answer && (std::holds_alternative<answer::granted>(*answer) ||
                                     std::holds_alternative<answer::renewed>(*answer));
        if (!asked.note.is_set() || !kept) return;
        if (asked.note.value().empty()) return forget(asked);
        const std::array<value, 3> values{asked.owner.value(), asked.note.value(),
                                          micros(asked.ttl)};
        static_cast<void>(db_->run(sentence::put_note, values, unread));
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

void sql_lease_store::sweep_some() {
    const time_point now = clock_.now();
    if (swept_ == time_point::min()) swept_ = now;
    if (now - swept_ < sweep_pause) return;
    swept_ = now;
    static_cast<void>(db_->run(sentence::forget_notes, {}, [](const row&) {}));
    static_cast<void>(sweep_next(sweep_size));
}

// Looks at the next names in order; answers whether there are more. What is over is settled: its
// dead are dropped, and its rows deleted if nobody is left.
result<bool> sql_lease_store::sweep_next(std::int64_t most) {
    const std::array<value, 2> values{sweep_after_, most};
    std::int64_t seen = 0;
    std::string last;
    std::vector<std::string> over;
    const auto read = db_->run(sentence::sweep, values, [&](const row& one) {
        ++seen;
        last = one.text(1);
        if (one.number(2) <= one.number(0)) over.push_back(last);
    });
    if (!read) return std::unexpected(read.error());
    sweep_after_ = seen == most ? last : std::string();
    if (over.empty()) return !sweep_after_.empty();
    const auto done = transact<lease_reply>([&]() -> result<lease_reply> {
        for (const std::string& name : over) {
            auto settled = change(name, [](name_book& book) -> result<lease_reply> {
                book.settle();
                return lease_reply();
            });
            if (!settled) return settled;
        }
        return lease_reply();
    });
    if (!done) return std::unexpected(done.error());
    return !sweep_after_.empty();
}

result<void> sql_lease_store::sweep_all(time_point give_up) {
    std::vector<note> notes;
    {
        auto mine = enter(give_up);
        if (!mine) return std::unexpected(std::move(mine.error()));
        sweep_after_.clear();
        for (bool more = true; more;) {
            const auto next = sweep_next(sweep_size);
            if (!next) return std::unexpected(next.error());
            more = *next;
        }
        notes = take_notes();
    }
    tell(notes);
    return {};
}

void sql_lease_store::submit(std::vector<lease_request> requests, time_point give_up,
                             reply_handler on_reply) {
    if (detail::fork_generation() == generation_) {
        lane_.add({std::move(requests), give_up, std::move(on_reply)});
        return;
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
        on_reply(i, std::unexpected(enter(give_up).error()));
    }
}

}  // namespace holdfast::sql
