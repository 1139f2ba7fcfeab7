// SPDX-License-Identifier: Apache-2.0
#include "lease/tables/sql_lease_store.hpp"

#include "core/overloaded.hpp"
#include "core/permit_bounds.hpp"
#include "core/require.hpp"
#include "lease/tables/note_text.hpp"
#include "lease/tables/quick_request.hpp"
#include "lease/tables/sql_statements.hpp"
#include "runtime/fork_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <numeric>
#include <utility>

namespace holdfast::sql {
namespace {

using namespace std::chrono_literals;

// So many requests of a batch travel in one transaction; others may write in between.
constexpr std::size_t largest_transaction = 256;

// So often is a transaction repeated that lost a conflict. Names are taken in their order, so there
// is hardly one.
constexpr int most_conflicts = 8;

const std::string& name_of(const lease_request& request) {
    return std::visit([](const auto& asked) -> const std::string& { return asked.name.value(); },
                      request);
}

lease_mode mode_of(const lease_request& request) {
    return std::visit([](const auto& asked) { return asked.mode; }, request);
}

// The order in which a batch takes its names: the same for all batches, so that none waits for one
// that waits for it.
std::vector<std::size_t> by_name(std::span<const lease_request> requests) {
    std::vector<std::size_t> order(requests.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {},
                             [&](std::size_t i) { return std::string_view(name_of(requests[i])); });
    return order;
}

/// The database behind a connection that was made elsewhere.
class lone_connection final : public database {
public:
    explicit lone_connection(std::unique_ptr<connection> only) : only_(std::move(only)) {}
    std::unique_ptr<connection> make_connection() override { return std::move(only_); }

private:
    std::unique_ptr<connection> only_;
};

// On a server, to try in vain costs a round trip.
bool is_worth_trying(const lease_request& request, name_memory::state seen) {
    const auto* asked = std::get_if<ask::acquire>(&request);
    if (asked != nullptr && asked->ticket.value != 0) return true;  // a look
    return mode_of(request).type == lease_mode::kind::exclusive &&
           seen != name_memory::state::crowd;
}

std::optional<error> unfit(const lease_request& request) {
    const lease_mode mode = mode_of(request);
    if (mode.type != lease_mode::kind::permit) return std::nullopt;
    return detail::unfit_permits(mode);
}

}  // namespace

sql_lease_store::sql_lease_store(std::unique_ptr<connection> to, clock& time)
    : sql_lease_store(std::make_unique<lone_connection>(std::move(to)), time) {}

sql_lease_store::sql_lease_store(std::unique_ptr<database> of, clock& time)
    : clock_(time),
      database_(std::move(of)),
      pool_(*database_, time, listener_.id().process),
      generation_(detail::fork_generation()),
      lane_([this](auto requests, auto replies, time_point give_up) {
          exchange(requests, replies, give_up);
      }) {}

// A child of fork() leaves the connections where they are: using or closing them would disturb its
// parent's. It has no thread to join.
sql_lease_store::~sql_lease_store() {
    if (detail::fork_generation() != generation_) {
        pool_.forget();
        database_->forget();
        static_cast<void>(database_.release());
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

result<sql_lease_store::visit> sql_lease_store::enter(time_point give_up) {
    if (detail::fork_generation() != generation_) {
        return fail(errc::invalid_argument,
                    "this is a child of the process that opened the database: open it again");
    }
    auto mine = pool_.enter(give_up);
    if (!mine) {
        return fail(errc::unavailable,
                    "the database did not answer others of this process in time");
    }
    if (const auto fit = (*mine)->ready(give_up); !fit) return std::unexpected(fit.error());
    return visit(std::move(*mine));
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
        write_introduction(*mine);
        if (count == 1) {
            replies[at] = serve(*mine, requests[at], give_up);
        } else {
            serve_batch(*mine, requests.subspan(at, count), replies.subspan(at, count), give_up);
        }
        for (std::size_t i = at; i < at + count; ++i) keep_note(*mine, requests[i], replies[i]);
        sweep_some(*mine);
        std::ranges::move(mine->notes, std::back_inserter(notes));
    }
    tell(notes);
}

template <class T>
result<T> sql_lease_store::transact(visit& at, const std::function<result<T>()>& act) {
    const std::size_t told = at.notes.size();
    const auto attempt = [&]() -> result<T> {
        if (auto begun = at.db->begin(); !begun) return std::unexpected(std::move(begun.error()));
        auto answer = act();
        if (answer) {
            if (auto sent = send_notes(at, told); !sent) {
                answer = std::unexpected(std::move(sent.error()));
            }
        }
        if (!answer) {
            at.db->roll_back();
            return answer;
        }
        if (auto kept = at.db->commit(); !kept) return std::unexpected(std::move(kept.error()));
        return answer;
    };
    for (int lost = 0;; ++lost) {
        auto done = attempt();
        if (done) return done;
        at.notes.erase(at.notes.begin() + static_cast<std::ptrdiff_t>(told), at.notes.end());
        if (lost == most_conflicts || !at.db->lost_conflict()) return done;
    }
}

template result<lease_reply> sql_lease_store::transact(
    visit& at, const std::function<result<lease_reply>()>& act);

// In the transaction: whoever is told owns what it is told of, as soon as that is so.
result<void> sql_lease_store::send_notes(visit& at, std::size_t from) {
    if (!database_->carries_notes()) return {};
    for (const note& one : std::span(at.notes).subspan(from)) {
        if (one.to.process == listener_.id().process) continue;
        const std::string text = note_text(one);
        const std::array<value, 3> values{one.to.process, one.to.number, text};
        if (auto sent = at.db->write(sentence::tell_other, values); !sent) return sent;
    }
    return {};
}

// Only what waits has to hear of others. It is seen to before anything is locked.
result<void> sql_lease_store::hear_if_waiting(std::span<const lease_request> requests,
                                              time_point give_up) {
    const bool waits = std::ranges::any_of(requests, [](const lease_request& one) {
        const auto* asked = std::get_if<ask::acquire>(&one);
        return asked != nullptr && asked->otherwise == ask::when_busy::join_queue;
    });
    return waits ? database_->hear(listener_.id(), give_up) : result<void>();
}

name_memory::state sql_lease_store::seen_at(const visit& at, const lease_request& request) {
    return at.db->is_remote() ? names_.of(name_of(request)) : name_memory::state::unknown;
}

void sql_lease_store::serve_batch(visit& at, std::span<const lease_request> requests,
                                  std::span<result<lease_reply>> replies, time_point give_up) {
    auto done = batch_quickly(at, requests, replies);
    if (done && *done) return;
    if (done) {
        if (auto hears = hear_if_waiting(requests, give_up); !hears) {
            done = std::unexpected(std::move(hears.error()));
        }
    }
    if (done) {
        if (auto kept = batch_fully(at, requests, replies); !kept) {
            done = std::unexpected(std::move(kept.error()));
        }
    }
    if (!done) std::ranges::fill(replies, std::unexpected(done.error()));
}

// All in one round trip, if that is what counts and all of them go the quick way: then true. What
// one of them locked before it turned out that they do not is given up, or the order of names would
// not be kept.
result<bool> sql_lease_store::batch_quickly(visit& at, std::span<const lease_request> requests,
                                            std::span<result<lease_reply>> replies) {
    if (!at.db->is_remote()) return false;
    const auto order = by_name(requests);
    std::deque<quick_request> quick;
    std::vector<call> calls;
    for (const std::size_t i : order) {
        const auto seen = seen_at(at, requests[i]);
        if (unfit(requests[i]) || !is_worth_trying(requests[i], seen)) return false;
        calls.push_back(quick.emplace_back(requests[i], listener_.id(), seen).statement());
        if (!quick.back().possible()) return false;
    }
    bool all = true;
    const auto done = transact<lease_reply>(at, [&]() -> result<lease_reply> {
        all = true;
        if (auto ran = at.db->run_all(calls); !ran) return std::unexpected(ran.error());
        for (std::size_t k = 0; k < calls.size() && all; ++k) {
            auto outcome = quick[k].outcome(calls[k]);
            all = outcome.has_value();
            if (all) replies[order[k]] = std::move(*outcome);
        }
        if (!all) return fail(errc::busy, "");  // undoes it
        return lease_reply();
    });
    if (!done && all) return std::unexpected(done.error());
    for (std::size_t k = 0; k < quick.size() && all; ++k) {
        if (quick[k].finds_gate())
            names_.note(name_of(requests[order[k]]), name_memory::state::gate);
    }
    return all;
}

// A refusal is a request's own outcome; what the database could not do undoes the whole batch.
result<void> sql_lease_store::batch_fully(visit& at, std::span<const lease_request> requests,
                                          std::span<result<lease_reply>> replies) {
    const bool remote = at.db->is_remote();
    const auto order = by_name(requests);
    const auto done = transact<lease_reply>(at, [&]() -> result<lease_reply> {
        for (const std::size_t i : order) {
            const auto one = [&]() -> result<lease_reply> {
                if (auto why = unfit(requests[i])) return std::unexpected(std::move(*why));
                if (remote) return serve_fully(at, requests[i]);
                auto quick = serve_quickly(at, requests[i], name_memory::state::unknown);
                if (!quick) return std::unexpected(std::move(quick.error()));
                return *quick ? result<lease_reply>(std::move(**quick))
                              : serve_fully(at, requests[i]);
            };
            replies[i] = one();
            if (replies[i]) continue;
            const errc why = replies[i].error().code;
            if (why == errc::busy || why == errc::invalid_argument) continue;
            return std::unexpected(replies[i].error());
        }
        return lease_reply();
    });
    return done ? result<void>() : std::unexpected(done.error());
}

result<lease_reply> sql_lease_store::serve(visit& at, const lease_request& request,
                                           time_point give_up) {
    if (const auto why = unfit(request)) return std::unexpected(*why);
    const auto seen = seen_at(at, request);
    if (!at.db->is_remote() || is_worth_trying(request, seen)) {
        auto quick = serve_quickly(at, request, seen);
        if (!quick) return std::unexpected(std::move(quick.error()));
        if (*quick) return std::move(**quick);
    }
    if (auto hears = hear_if_waiting({&request, 1}, give_up); !hears) {
        return std::unexpected(std::move(hears.error()));
    }
    return transact<lease_reply>(at, [&] { return serve_fully(at, request); });
}

result<std::optional<lease_reply>> sql_lease_store::serve_quickly(visit& at,
                                                                  const lease_request& request,
                                                                  name_memory::state seen) {
    const quick_request quick(request, listener_.id(), seen);
    if (!quick.possible()) return std::optional<lease_reply>();
    call one = quick.statement();
    result<void> ran;
    for (int lost = 0; lost <= most_conflicts; ++lost) {
        ran = at.db->run_all({&one, 1});
        if (ran || !at.db->lost_conflict()) break;
    }
    if (!ran) return std::unexpected(std::move(ran.error()));
    auto outcome = quick.outcome(one);
    if (outcome && at.db->is_remote() && quick.finds_gate()) {
        names_.note(name_of(request), name_memory::state::gate);
    }
    return outcome;
}

result<lease_reply> sql_lease_store::serve_fully(visit& at, const lease_request& request) {
    return change(at, name_of(request), [&](name_book& book) {
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

wake_reach sql_lease_store::reach() const noexcept {
    return database_->carries_notes() ? wake_reach::everyone : wake_reach::process;
}

// A waiter of a process that was killed is not waited for.
hearing sql_lease_store::hears(connection& by, const listener_id& id) {
    const hearing where = where_is(id);
    if (where != hearing::elsewhere) return where;
    if (!by.may_live(id.process)) return hearing::gone;
    return database_->carries_notes() ? hearing::told : hearing::elsewhere;
}

// A refusal is written back too: it may have dropped the dead.
result<lease_reply> sql_lease_store::change(
    visit& at, std::string_view name, const std::function<result<lease_reply>(name_book&)>& decide,
    lease_table::free_gate then) {
    auto book =
        at.table.load(name, [&](const listener_id& id) { return hears(*at.db, id); }, reach());
    if (!book) return std::unexpected(std::move(book.error()));
    auto answer = decide(*book);
    if (const auto saved = at.table.save(name, *book, then); !saved) {
        return std::unexpected(saved.error());
    }
    if (at.db->is_remote() && then == lease_table::free_gate::stays) {
        using state = name_memory::state;
        names_.note(name, book->is_crowd() ? state::crowd : state::gate);
    }
    at.notes.insert(at.notes.end(), book->notes().begin(), book->notes().end());
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
        const auto done = transact<lease_reply>(*mine, [&] {
            return change(*mine, name.value(), [&](name_book& book) -> result<lease_reply> {
                decide(book);
                return lease_reply();
            });
        });
        if (!done) return std::unexpected(done.error());
        notes = std::move(mine->notes);
    }
    tell(notes);
    return {};
}

result<wall_time> sql_lease_store::time_of_day(time_point give_up) {
    auto mine = enter(give_up);
    if (!mine) return std::unexpected(std::move(mine.error()));
    return mine->db->time_of_day();
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
