// SPDX-License-Identifier: Apache-2.0
#include "push/presence_keeper.hpp"

#include "command/script_call.hpp"
#include "core/validity.hpp"
#include "push/room_keys.hpp"

#include <algorithm>

namespace holdfast::push {
namespace {

constexpr std::size_t calls_at_once = 256;

}  // namespace

presence_keeper::presence_keeper(command_engine& engine, const settings& s, std::string comet,
                                 written done)
    : engine_(engine), settings_(s), comet_(std::move(comet)), done_(std::move(done)) {}

presence_keeper::~presence_keeper() {
    stop();
}

void presence_keeper::start() {
    thread_ = std::thread([this] { run(); });
}

void presence_keeper::stop() {
    {
        const std::scoped_lock guard(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void presence_keeper::put(change one) {
    {
        const std::scoped_lock guard(mutex_);
        changes_.push_back(std::move(one));
    }
    changed_.notify_all();
}

void presence_keeper::run() {
    clock& time = engine_.time();
    time_point next_renewal = time.now() + settings_.presence_life / 3;
    for (;;) {
        std::vector<change> changes;
        bool stopping = false;
        {
            std::unique_lock guard(mutex_);
            while (!stop_ && changes_.empty() && time.now() < next_renewal) {
                time.wait_until(guard, changed_, next_renewal);
            }
            changes.swap(changes_);
            stopping = stop_;
        }
        apply(changes);
        if (stopping) break;
        done_(changes);
        if (time.now() < next_renewal) continue;
        renew();
        next_renewal = time.now() + settings_.presence_life / 3;
    }
    std::vector<change> last;
    for (const auto& [connection, who] : guests_) {
        for (const std::string& room : who.rooms)
            last.push_back({false, 0, room, connection, who.user});
    }
    apply(last);
}

std::vector<result<reply>> presence_keeper::send(const std::vector<owned_call>& calls) {
    std::vector<result<reply>> answers(calls.size());
    std::vector<command> commands;
    for (const owned_call& call : calls) commands.push_back(call.view());
    for (std::size_t from = 0; from < calls.size(); from += calls_at_once) {
        const std::size_t many = std::min(calls_at_once, calls.size() - from);
        engine_.exchange(std::span(commands).subspan(from, many),
                         std::span(answers).subspan(from, many),
                         later(engine_.time().now(), settings_.timeout));
    }
    return answers;
}

owned_call presence_keeper::presence_call(const std::string& room) const {
    const room_keys keys(settings_, room);
    const std::vector<std::string> names{keys.comets(), keys.connections()};
    owned_call call(push_scripts::all().presence, names);
    const auto at = rooms_.find(room);
    call.add(comet_);
    call.add(at == rooms_.end() ? 0 : at->second.size());
    call.add(detail::to_ms(settings_.presence_life));
    return call;
}

void presence_keeper::write_guest(std::vector<owned_call>& calls, const std::string& connection,
                                  const guest& who) const {
    const std::string key = connection_key(settings_, connection);
    const std::string life = std::to_string(detail::to_ms(settings_.presence_life));
    for (const std::string& room : who.rooms) {
        calls.push_back(owned_call({"SADD", room_keys(settings_, room).connections(), connection}));
    }
    calls.push_back(owned_call(
        {"HSET", key, "comet_id", comet_, "user_id", who.user, "room_id", *who.rooms.begin()}));
    calls.push_back(owned_call({"PEXPIRE", key, life}));
    calls.push_back(owned_call({"SET", user_key(settings_, who.user), connection, "PX", life}));
}

void presence_keeper::apply(const std::vector<change>& changes) {
    std::vector<owned_call> calls;
    std::set<std::string> touched;
    for (const change& one : changes) {
        touched.insert(one.room);
        guest& who = guests_[one.connection];
        who.user = one.user;
        if (one.entered) {
            who.rooms.insert(one.room);
            rooms_[one.room].insert(one.connection);
            write_guest(calls, one.connection, who);
            continue;
        }
        who.rooms.erase(one.room);
        if (const auto at = rooms_.find(one.room); at != rooms_.end()) {
            at->second.erase(one.connection);
            if (at->second.empty()) rooms_.erase(at);
        }
        calls.push_back(
            owned_call({"SREM", room_keys(settings_, one.room).connections(), one.connection}));
        if (!who.rooms.empty()) {
            write_guest(calls, one.connection, who);
            continue;
        }
        guests_.erase(one.connection);
        calls.push_back(owned_call({"DEL", connection_key(settings_, one.connection)}));
        const std::vector<std::string> user{user_key(settings_, one.user)};
        calls.emplace_back(push_scripts::all().sign_off, user);
        calls.back().add(one.connection);
    }
    for (const std::string& room : touched) calls.push_back(presence_call(room));
    if (!calls.empty()) (void)send(calls);  // what fails is written by the next renewal
}

void presence_keeper::renew() {
    std::vector<owned_call> calls;
    std::vector<const std::string*> of;
    const std::string life = std::to_string(detail::to_ms(settings_.presence_life));
    for (const auto& [connection, who] : guests_) {
        calls.push_back(owned_call({"PEXPIRE", connection_key(settings_, connection), life}));
        of.push_back(&connection);
        calls.push_back(owned_call({"PEXPIRE", user_key(settings_, who.user), life}));
        of.push_back(nullptr);
    }
    const auto answers = send(calls);
    std::vector<owned_call> again;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (of[i] == nullptr || (answers[i] && answers[i]->number() == 1)) continue;
        write_guest(again, *of[i], guests_.at(*of[i]));
    }
    for (const auto& [room, members] : rooms_) again.push_back(presence_call(room));
    (void)send(again);
}

}  // namespace holdfast::push
