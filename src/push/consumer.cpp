// SPDX-License-Identifier: Apache-2.0
#include "push/consumer.hpp"

#include "command/script_call.hpp"
#include "core/validity.hpp"
#include "push/room_commands.hpp"
#include "push/room_keys.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::push {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t entries_at_once = 128;
constexpr std::size_t looks_at_once = 64;
// How long a stop may have to wait for a consumer that waits for the queue.
constexpr duration longest_wait = 250ms;

duration claim_idle(const settings& s) {
    duration longest = s.cooldown;
    for (const room_rule& rule : s.rules) {
        longest = std::max(longest, rule.cooldown.value_or(duration::zero()));
    }
    return std::max(s.lock_life, 2 * longest);
}

}  // namespace

consumer::consumer(client& hf, const settings& s, std::size_t number, std::string node,
                   log_sink log, counters& counts, const job_options& options)
    : hf_(hf),
      engine_(*hf.commands()),
      time_(engine_.time()),
      settings_(s),
      number_(number),
      name_(fmt::format("{}-{}", node, number)),
      queue_(partition_queue(s, number % partition_count(s))),
      options_(options),
      counts_(counts),
      plan_(number, s, std::move(log), counts) {}

bool consumer::stopping() {
    const std::scoped_lock guard(mutex_);
    return stop_;
}

void consumer::stop() {
    {
        const std::scoped_lock guard(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
}

void consumer::pause(duration how_long) {
    const time_point until = time_.now() + how_long;
    std::unique_lock guard(mutex_);
    while (!stop_ && time_.now() < until) time_.wait_until(guard, changed_, until);
}

time_point consumer::give_up() const {
    return later(time_.now(), settings_.timeout);
}

result<reply> consumer::ask(const owned_call& call) {
    const command c = call.view();
    result<reply> answered;
    engine_.exchange({&c, 1}, {&answered, 1}, give_up());
    if (answered && answered->is_error()) return std::unexpected(to_error(*answered));
    return answered;
}

void consumer::step(job_step at, std::string_view room) const {
    if (options_.at_step) options_.at_step(number_, at, room);
}

void consumer::run() {
    try {
        while (!stopping()) {
            if (session_ == nullptr && !open()) {
                pause(longest_wait);
                continue;
            }
            turn();
        }
        hand_on();
    } catch (...) {  // a test's step: as if this thread had been killed here
        if (held_) (void)std::move(*held_).detach();
    }
}

// A session of its own to wait on, and the group.
bool consumer::open() {
    const owned_call make({"XGROUP", "CREATE", queue_, job_group, "0", "MKSTREAM"});
    const auto made = ask(make);
    if (!made && !made.error().detail.contains("BUSYGROUP")) return false;
    auto session = engine_.open_session(queue_, give_up());
    if (!session) return false;
    session_ = std::move(*session);
    return true;
}

void consumer::turn() {
    claim();
    std::vector<std::string> rooms = plan_.due(time_.now());
    for (std::size_t from = 0; from < rooms.size(); from += looks_at_once) {
        const std::size_t many = std::min(looks_at_once, rooms.size() - from);
        look(std::span(rooms).subspan(from, many));
        if (stopping()) break;
    }
    acknowledge();
    if (!stopping()) read();
}

void consumer::take(const reply& list, bool claimed) {
    const time_point now = time_.now();
    for (queue_entry& entry : read_entries(list)) {
        const std::string room = entry.room;
        if (!plan_.take(std::move(entry), now)) continue;
        if (claimed) ++counts_.claimed;
        step(job_step::received, room);
    }
}

// Waits for the queue until the next room falls due.
void consumer::read() {
    const time_point now = time_.now();
    const duration left = std::clamp<duration>(plan_.wake() - now, 1ms, longest_wait);
    owned_call call({"XREADGROUP", "GROUP", job_group, name_, "COUNT"});
    call.add(entries_at_once);
    call.add("BLOCK");
    call.add(plan_.wake() <= now ? 1 : detail::to_ms(left));
    for (const std::string_view word : {"STREAMS", queue_.c_str(), ">"}) {
        call.add(word);
    }
    command c = call.view();
    c.again = repeat::never;
    const auto answered = session_->execute(c, now + left + settings_.timeout);
    if (!answered) {  // the server is away, or has lost the group: what it delivered is claimed
        session_ = nullptr;
        pause(std::min<duration>(left, longest_wait));
        return;
    }
    for (const reply& stream : answered->elements()) {
        if (stream.elements().size() == 2) take(stream.elements()[1], false);
    }
}

// Takes over what consumers that died have left.
void consumer::claim() {
    const time_point now = time_.now();
    if (now < next_claim_) return;
    next_claim_ = now + std::max<duration>(settings_.lock_life / 5, 20ms);
    owned_call call({"XAUTOCLAIM", queue_, job_group, name_});
    call.add(detail::to_ms(claim_idle(settings_)));
    call.add(claim_from_);
    call.add("COUNT");
    call.add(entries_at_once);
    const auto answered = ask(call);
    if (!answered || answered->elements().size() < 2) return;
    claim_from_ = answered->elements()[0].text();
    take(answered->elements()[1], true);
}

void consumer::look(std::span<const std::string> rooms) {
    std::vector<owned_call> calls;
    std::vector<command> commands;
    for (const std::string& room : rooms) calls.push_back(look_call(settings_, room));
    for (const owned_call& call : calls) commands.push_back(call.view());
    std::vector<result<reply>> answers(calls.size());
    engine_.exchange(commands, answers, give_up());
    for (std::size_t i = 0; i < rooms.size(); ++i) {
        step(job_step::looked, rooms[i]);
        const time_point now = time_.now();
        const auto seen = answers[i] ? read_look(*answers[i]) : std::nullopt;
        if (!seen) {
            plan_.failed(rooms[i],
                         answers[i] ? "the room cannot be read" : answers[i].error().detail, now);
        } else if (plan_.looked(rooms[i], *seen, now) == consumer_plan::verdict::acquire) {
            work_on(rooms[i]);
        }
    }
}

// Lock, broadcast, release, whatever happens.
void consumer::work_on(const std::string& room) {
    const room_keys keys(settings_, room);
    mutex name(hf_, keys.lock(), {.ttl = settings_.lock_life, .wait = duration::zero()});
    auto got = name.try_acquire();
    if (!got) {
        if (got.error() == errc::busy) return plan_.lock_busy(room, time_.now());
        return plan_.failed(room, got.error().detail, time_.now());
    }
    held_.emplace(std::move(*got));
    plan_.lock_acquired(room);
    step(job_step::locked, room);
    broadcast(room, held_->fence().value);
    step(job_step::broadcast, room);
    (void)std::move(*held_).release();  // if that fails it ends by itself, and is fenced
    held_.reset();
    plan_.lock_released(room);
    step(job_step::released, room);
}

void consumer::broadcast(const std::string& room, std::uint64_t fence) {
    for (;;) {
        const auto answered = ask(broadcast_call(settings_, room, plan_.order(room), fence));
        const time_point now = time_.now();
        if (!answered) return plan_.failed(room, answered.error().detail, now);
        const auto answer = read_broadcast(*answered);
        if (!answer) return plan_.failed(room, "the room cannot be read", now);
        if (plan_.broadcast(room, *answer, now) == consumer_plan::next_step::release) return;
        step(job_step::broadcast, room);
    }
}

void consumer::acknowledge() {
    const std::vector<std::string> ids = plan_.take_acknowledged();
    if (ids.empty()) return;
    owned_call ack({"XACK", queue_, job_group});
    owned_call remove({"XDEL", queue_});
    for (const std::string& id : ids) {
        ack.add(id);
        remove.add(id);
    }
    const std::array commands{ack.view(), remove.view()};
    std::array<result<reply>, 2> answers;
    engine_.exchange(commands, answers, give_up());  // if it fails they are claimed, and end again
    step(job_step::acknowledged, {});
}

// What is not done goes back to the queue, for the others at once and not after a while.
void consumer::hand_on() {
    acknowledge();
    owned_call call(push_scripts::all().requeue, std::span(&queue_, 1));
    call.add(job_group);
    bool clean = true;
    const std::vector<std::string> left = plan_.pending();
    for (const std::string& id : left) call.add(id);
    if (!left.empty()) clean = ask(call).has_value();
    if (clean) (void)ask(owned_call({"XGROUP", "DELCONSUMER", queue_, job_group, name_}));
}

}  // namespace holdfast::push
