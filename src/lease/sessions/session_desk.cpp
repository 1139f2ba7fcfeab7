// SPDX-License-Identifier: Apache-2.0
#include "lease/sessions/session_desk.hpp"

#include <fmt/format.h>

#include <poll.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace holdfast::session {
namespace {

using namespace std::chrono_literals;
using stand = seat::stand;

// A waiter that does not poll for so long is gone; it polls at least once a second.
constexpr duration waiter_life = 5s;
constexpr duration poll_pause = 1s;
// A lease that was handed to a waiter lasts so long before the waiter has asked for it.
constexpr duration longest_claim = 3s;
// So long a waiter stays in the server's queue before it stands in line anew: what the client has
// left may stay there for so long.
constexpr duration server_wait = 10s;
constexpr duration answer_within = 5s;
constexpr duration reconnect_pause = 250ms;
// Shorter than what firewalls and poolers allow an idle connection.
constexpr duration probe_pause = 15s;
constexpr duration look_pause = 1s;

// The desk whose handler this thread is in.
thread_local const void* telling = nullptr;

void pause_at(int fd, duration at_most) {
    pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
    ::poll(&one, 1,
           static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(at_most).count()));
}

void ring(int fd) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(fd, &one, sizeof one);
}

result<bool> open_and_lock(session_connection& line, const lock_name& name, duration wait,
                           time_point deadline) {
    if (auto opened = line.open(deadline); !opened) {
        return std::unexpected(std::move(opened.error()));
    }
    return line.lock(name.value(), wait, deadline);
}

}  // namespace

session_lease_store::desk::desk(connection_maker make, session_options options, clock& time)
    : make_(std::move(make)),
      options_(std::move(options)),
      clock_(time),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

session_lease_store::desk::~desk() {
    ::close(wake_);
}

void session_lease_store::desk::on_push(push_handler handler) {
    const std::scoped_lock guard(handler_mutex_);
    handler_ = std::move(handler);
}

void session_lease_store::desk::push(const lease_push& what) {
    const std::shared_lock guard(handler_mutex_);
    telling = this;
    if (handler_) handler_(what);
    telling = nullptr;
}

time_point session_lease_store::desk::machine_time(time_point give_up) const {
    return system_clock().now() + (give_up - clock_.now());
}

session_lease_store::desk::seat_ref session_lease_store::desk::find(
    const lock_name& name, const owner_token& owner) const {
    const auto found = std::ranges::find_if(seats_, [&](const seat_ref& one) {
        return one->name.value() == name.value() && one->owner.value() == owner.value();
    });
    return found == seats_.end() ? nullptr : *found;
}

session_lease_store::desk::line_ref session_lease_store::desk::take_line() {
    const std::scoped_lock guard(mutex_);
    if (!idle_.empty()) {
        line_ref line = std::move(idle_.back());
        idle_.pop_back();
        return line;
    }
    if (lines_ == options_.connections || closing_) return nullptr;
    ++lines_;
    return make_();
}

void session_lease_store::desk::give_back(line_ref line) {
    const std::scoped_lock guard(mutex_);
    if (line->is_open() && !closing_) {
        idle_.push_back(std::move(line));
    } else {
        --lines_;
    }
}

// What is known of the owner from an earlier request.
std::optional<lease_reply> session_lease_store::desk::known(const ask::acquire& asked) {
    const std::scoped_lock guard(mutex_);
    const seat_ref mine = find(asked.name, asked.owner);
    if (mine == nullptr) return std::nullopt;
    const time_point now = clock_.now();
    mine->ttl = asked.ttl;
    if (mine->at == stand::holds) {
        mine->until = std::max(mine->until, now + asked.ttl);
        return answer::granted{{}, asked.ttl};
    }
    mine->until = now + waiter_life;
    return answer::busy{.poll_after = poll_pause, .ahead = 0, .ticket = {1}, .latest = {}};
}

result<lease_reply> session_lease_store::desk::acquire(const ask::acquire& asked,
                                                       time_point give_up) {
    if (auto reply = known(asked)) return std::move(*reply);
    line_ref line = take_line();
    if (line == nullptr) {
        return fail(errc::unavailable,
                    fmt::format("{}: all {} connections hold a lease, or wait for one: raise "
                                "connections= in the URL",
                                options_.label, options_.connections));
    }
    const time_point deadline = machine_time(give_up);
    if (line->is_open() && !line->is_quiet()) line->close();
    auto got = open_and_lock(*line, asked.name, duration::zero(), deadline);
    if (!got) {
        line->close();  // whatever became of it, the server drops it
        give_back(std::move(line));
        return std::unexpected(std::move(got.error()));
    }
    if (!*got && asked.otherwise == ask::when_busy::refuse) {
        give_back(std::move(line));
        return answer::busy{.poll_after = poll_pause, .ahead = 0, .ticket = {}, .latest = {}};
    }
    const auto mine = std::make_shared<seat>(asked.name, asked.owner, std::move(line));
    mine->at = *got ? stand::holds : stand::waits;
    mine->ttl = asked.ttl;
    mine->until = clock_.now() + (*got ? asked.ttl : waiter_life);
    mine->proven = system_clock().now();
    add(mine);
    if (*got) return answer::granted{{}, asked.ttl};
    return answer::busy{.poll_after = poll_pause, .ahead = 0, .ticket = {1}, .latest = {}};
}

void session_lease_store::desk::add(const seat_ref& one) {
    bool first = false;
    {
        const std::scoped_lock guard(mutex_);
        seats_.push_back(one);
        first = !std::exchange(watched_, true);
    }
    if (first) start(&desk::watch, nullptr);
    if (one->at == stand::waits) start(&desk::wait_for_lock, one);
    ring(wake_);
}

bool session_lease_store::desk::remove(const seat_ref& one, stand from) {
    const std::scoped_lock guard(mutex_);
    if (one->at != from) return false;
    one->at = stand::over;
    std::erase(seats_, one);
    return true;
}

lease_reply session_lease_store::desk::renew(const ask::renew& asked, time_point give_up) {
    seat_ref mine;
    {
        const std::scoped_lock guard(mutex_);
        mine = find(asked.name, asked.owner);
        if (mine == nullptr || mine->at != stand::holds) return answer::lost{};
    }
    bool alive = false;
    {
        const std::scoped_lock turn(mine->use);
        if (mine->line == nullptr) return answer::lost{};  // it was ended meanwhile
        alive = mine->line->is_open() && mine->line->probe(machine_time(give_up)).has_value();
    }
    if (alive) {
        const std::scoped_lock guard(mutex_);
        if (mine->at != stand::holds) return answer::lost{};
        mine->proven = system_clock().now();
        mine->until = std::max(mine->until, clock_.now() + asked.ttl);
        return answer::renewed{asked.ttl};
    }
    lose(mine);
    return answer::lost{.reason = "the connection whose session held the lock was lost"};
}

bool session_lease_store::desk::end(const lock_name& name, const owner_token& owner,
                                    time_point give_up) {
    seat_ref mine;
    {
        const std::scoped_lock guard(mutex_);
        mine = find(name, owner);
    }
    if (mine == nullptr) return false;
    if (remove(mine, stand::waits)) {
        mine->cancel();  // its thread closes the connection
        return true;
    }
    if (!remove(mine, stand::holds)) return false;
    const std::scoped_lock turn(mine->use);
    const bool held = mine->line->is_open() && mine->line->is_quiet();
    if (!held || !mine->line->unlock(name.value(), machine_time(give_up))) mine->line->close();
    give_back(std::move(mine->line));
    return held;
}

// The server has dropped the lock, or does so when it learns that the connection is closed.
void session_lease_store::desk::lose(const seat_ref& one) {
    if (!remove(one, stand::holds)) return;
    {
        const std::scoped_lock turn(one->use);
        one->line->close();
        give_back(std::move(one->line));
    }
    push(evicted{one->owner, "the connection whose session held the lock was lost"});
}

void session_lease_store::desk::start(void (desk::*work)(const seat_ref&), const seat_ref& with) {
    {
        const std::scoped_lock guard(mutex_);
        ++threads_;
    }
    std::thread([self = shared_from_this(), work, with] {
        ((*self).*work)(with);
        {
            const std::scoped_lock guard(self->mutex_);
            --self->threads_;
        }
        self->ended_.notify_all();
    }).detach();
}

// On a thread of its own, until it has the lock or nobody waits for it any more.
void session_lease_store::desk::wait_for_lock(const seat_ref& mine) {
    session_connection& line = *mine->line;
    line.give_up_by(mine->stop);
    const auto waits = [&] {
        const std::scoped_lock guard(mutex_);
        return mine->at == stand::waits;
    };
    while (waits()) {
        const time_point now = system_clock().now();
        const auto got =
            open_and_lock(line, mine->name, server_wait, now + server_wait + answer_within);
        if (got && *got) {
            line.give_up_by(-1);
            if (has_got(mine)) return;
            break;
        }
        if (got) continue;
        line.close();
        pause_at(mine->stop, reconnect_pause);
    }
    line.close();
    give_back(std::move(mine->line));
}

// The waiter polls when it is told, and finds that it holds the lock.
bool session_lease_store::desk::has_got(const seat_ref& mine) {
    {
        const std::scoped_lock guard(mutex_);
        if (mine->at != stand::waits) return false;
        mine->at = stand::holds;
        mine->proven = system_clock().now();
        mine->until = clock_.now() + std::min(mine->ttl, longest_claim);
    }
    push(handed_off{mine->owner, {}, std::min(mine->ttl, longest_claim)});
    ring(wake_);
    return true;
}

// On a thread of its own, from the first seat on.
void session_lease_store::desk::watch(const seat_ref& /*none*/) {
    while (true) {
        wait_for_news();
        std::vector<seat_ref> all;
        {
            const std::scoped_lock guard(mutex_);
            if (closing_) return;
            all = seats_;
        }
        for (const seat_ref& one : all) look_at(one);
    }
}

// Until the server of a holder says something, or something changes here, or a second has passed.
void session_lease_store::desk::wait_for_news() {
    std::vector<pollfd> all{{.fd = wake_, .events = POLLIN, .revents = 0}};
    {
        const std::scoped_lock guard(mutex_);
        for (const seat_ref& one : seats_) {
            if (one->at != stand::holds) continue;
            const std::unique_lock turn(one->use, std::try_to_lock);
            // Somebody is asking the server just now: what it says is the answer.
            if (!turn.owns_lock() || !one->line->is_open()) continue;
            all.push_back({.fd = one->line->socket(), .events = POLLIN, .revents = 0});
        }
    }
    ::poll(all.data(), all.size(), static_cast<int>(look_pause / 1ms));
    std::uint64_t rung = 0;
    [[maybe_unused]] const auto read = ::read(wake_, &rung, sizeof rung);
}

void session_lease_store::desk::look_at(const seat_ref& one) {
    bool holds = false;
    bool over = false;
    bool asks = false;
    {
        const std::scoped_lock guard(mutex_);
        if (one->at == stand::over) return;
        holds = one->at == stand::holds;
        over = one->until <= clock_.now();
        asks = system_clock().now() - one->proven > probe_pause;
    }
    if (!holds) {
        if (over && remove(one, stand::waits)) one->cancel();
        return;
    }
    if (over) return lose(one);
    {
        const std::unique_lock turn(one->use, std::try_to_lock);
        if (!turn.owns_lock()) return pause_at(wake_, 1ms);
        if (one->line == nullptr) return;
        bool alive = one->line->is_open() && one->line->is_quiet();
        if (alive && asks) {
            alive = one->line->probe(system_clock().now() + answer_within).has_value();
            if (alive) {
                const std::scoped_lock guard(mutex_);
                one->proven = system_clock().now();
            }
        }
        if (alive) return;
    }
    lose(one);
}

void session_lease_store::desk::close() {
    std::vector<seat_ref> all;
    {
        const std::scoped_lock guard(mutex_);
        closing_ = true;
        all = std::exchange(seats_, {});
        for (const seat_ref& one : all) one->at = stand::over;
        idle_.clear();
    }
    for (const seat_ref& one : all) one->cancel();
    ring(wake_);
    if (telling == this) return;  // in a handler: its thread ends by itself
    {
        const std::scoped_lock guard(handler_mutex_);
        handler_ = nullptr;
    }
    std::unique_lock guard(mutex_);
    ended_.wait(guard, [&] { return threads_ == 0; });
}

}  // namespace holdfast::session
