// SPDX-License-Identifier: Apache-2.0
#include "remote_store.hpp"

#include "process.hpp"
#include "world.hpp"

#include "driver/redis/earlier_try.hpp"
#include "lease/commands/grant_message.hpp"
#include "lease/commands/replica_confirmation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

// How long a connection may take to come about before another one is tried.
constexpr moment connect_patience = 250ms;

// Each client watches the clock of each server by itself.
command_lease_options watching(command_lease_options options) {
    options.clocks = std::make_shared<server_clocks>();
    return options;
}

bool says(const reply& r, std::string_view word) {
    return r.is_error() && r.text().starts_with(word);
}

}  // namespace

struct remote_store::conversation {
    conversation(const command_lease_options& options, lease_request asked, lease_way way,
                 lease_form form)
        : request(std::move(asked)), talk(options, request, way, form) {}

    const lease_request request;
    lease_request_machine talk;
    wire_batch batch;
    time_point began;
    time_point give_up;
    std::function<void(result<lease_reply>)> tell;
    unsigned trip = 0;
    bool waits = false;     ///< For an answer.
    bool was_sent = false;  ///< This trip's commands, on any connection.
    bool in_doubt = false;  ///< … and once without an answer.
    bool over = false;
    bool confirming = false;  ///< Only the replicas' word is missing.
    moment written{};         ///< When the server carried it out.
};

remote_store::remote_store(world& around, process& host, const command_lease_options& options,
                           std::optional<unsigned> node)
    : world_(around),
      host_(host),
      options_(watching(options)),
      only_node_(node),
      channel_(fmt::format("holdfast:grants:{}", host.number())) {
    subscribe();
}

capabilities remote_store::can() const noexcept {
    return {.shared = true, .permits = true, .fencing = true, .fair = true, .pushes = true};
}

void remote_store::exchange(std::span<const lease_request> /*requests*/,
                            std::span<result<lease_reply>> replies, time_point /*give_up*/) {
    std::ranges::fill(replies, fail(errc::unsupported, "nobody can wait in a simulation"));
}

result<std::vector<lease_info>> remote_store::list(std::string_view /*prefix*/,
                                                   time_point /*give_up*/) {
    return fail(errc::unsupported, "nobody lists in a simulation");
}

unsigned remote_store::server() const {
    return only_node_.value_or(world_.master_for(host_.number()));
}

// A blocking program asks by exchange; renewals, leavings and all that an asynchronous program or a
// quorum asks are submitted.
void remote_store::submit(std::vector<lease_request> requests, time_point give_up,
                          reply_handler on_reply) {
    if (host_.dead()) return;
    const auto tell = std::make_shared<const reply_handler>(std::move(on_reply));
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const bool exchanged = host_.blocking() && !only_node_ &&
                               (std::holds_alternative<ask::acquire>(requests[i]) ||
                                std::holds_alternative<ask::release>(requests[i]));
        const bool recent = contended_.recent(name_of(requests[i]), host_.time().now());
        const auto one = std::make_shared<conversation>(
            options_, std::move(requests[i]), recent ? lease_way::full : lease_way::fast,
            exchanged ? lease_form::several : lease_form::one);
        one->began = host_.time().now();
        one->give_up = give_up;
        one->tell = [tell, i](result<lease_reply> reply) { (*tell)(i, std::move(reply)); };
        open_.push_back(one);
        if (only_node_) {
            world_.judges().see(
                seen::node_asked{world_.now(), host_.number(), *only_node_, one->request});
        }
        if (!ear_.open) {  // it could not be told of anything
            world_.judges().see(seen::process_disturbed{world_.now(), host_.number()});
        }
        host_.at(give_up, [this, one] { time_is_up(one); });
        next_trip(one);
    }
}

void remote_store::next_trip(const talk& one) {
    ++one->trip;
    one->was_sent = one->in_doubt = false;
    one->talk.speak(one->talk.may_wait() ? std::string_view(channel_) : std::string_view());
    one->batch = copy_of(one->talk.commands());
    if (host_.time().now() >= one->give_up) {
        fail_trip(one, errc::timed_out, "the deadline had passed before the call");
        return;
    }
    dispatch(one);
}

void remote_store::dispatch(const talk& one) {
    if (!commands_.open) {
        waiting_.push_back(one);
        if (!commands_.opening) connect();
        return;
    }
    one->waits = true;
    one->was_sent = true;
    const bool may_repeat = std::ranges::all_of(one->batch, &wire_command::may_repeat);
    world_.send_commands(
        {.process = host_.number(),
         .node = commands_.node,
         .incarnation = commands_.incarnation,
         .may_repeat = may_repeat,
         .request = one->request,
         .batch = one->batch,
         .line = commands_.epoch,
         .awaited = [one, trip = one->trip] { return !one->over && trip == one->trip; }},
        host_.guarded([this, one, trip = one->trip](std::vector<reply> replies) {
            hear_replies(one, trip, std::move(replies));
        }),
        host_.guarded([this, epoch = commands_.epoch] {
            if (epoch == commands_.epoch) reset();
        }));
    host_.has_asked();
}

void remote_store::hear_replies(const talk& one, unsigned trip, std::vector<reply> replies) {
    if (one->over || trip != one->trip || !one->waits) return;
    one->waits = false;
    one->written = world_.now();  // at the latest
    for (std::size_t i = 0; i < replies.size(); ++i) {
        wire_command& said = one->batch[i];
        if (!says(replies[i], "NOSCRIPT") || said.body == nullptr) continue;
        said.words[0] = "EVAL";
        said.words[1] = said.body->source();
        dispatch(one);
        return;
    }
    const auto refused = [](const reply& r) { return says(r, "READONLY"); };
    if (std::ranges::any_of(replies, refused)) {  // it did nothing: the new master is asked
        one->was_sent = one->in_doubt;
        waiting_.push_back(one);
        reset();
        return;
    }
    std::vector<result<reply>> answers(replies.begin(), replies.end());
    if (one->in_doubt) std::ranges::for_each(answers, redis::keep_in_doubt);
    finish_trip(one, answers);
}

void remote_store::fail_trip(const talk& one, errc code, const std::string& why) {
    one->waits = false;
    std::vector<result<reply>> answers(one->batch.size(), fail(code, why));
    finish_trip(one, answers);
}

void remote_store::finish_trip(const talk& one, std::span<result<reply>> replies) {
    auto meant = one->talk.hear(replies);
    if (one->talk.contended()) contended_.note(name_of(one->request), host_.time().now());
    if (!meant || outlasted(one->talk)) return next_trip(one);
    note_clock(options_, one->talk.said(), one->request, one->began, host_.time(), *meant);
    const bool counts = *meant && must_be_confirmed(**meant);
    if (options_.replicas > 0 && counts) return confirm(one, std::move(*meant));
    answer(one, std::move(*meant));
}

// As is_over() does it, by what this program has seen itself.
bool remote_store::outlasted(lease_request_machine& said) {
    const std::string_view server = said.quarantined();
    if (server.empty()) return false;
    servers_.note(server, host_.time().now());
    if (!servers_.older_than(server, options_.quarantine, host_.time().now())) return false;
    said.vouch();
    return true;
}

// As replicated_lanes does it: WAIT speaks of the writes of its own connection.
void remote_store::confirm(const talk& one, result<lease_reply> meant) {
    one->waits = true;
    one->confirming = true;
    const unsigned trip = ++one->trip;
    world_.confirm({.process = host_.number(),
                    .node = commands_.node,
                    .incarnation = commands_.incarnation,
                    .written = one->written,
                    .replicas = options_.replicas,
                    .patience = options_.replica_wait},
                   host_.guarded([this, one, trip, meant](unsigned heard) {
                       if (one->over || trip != one->trip) return;
                       if (heard >= options_.replicas) {
                           return answer(one, meant);
                       }
                       answer(one, unconfirmed(name_of(one->request), "too few replicas"));
                   }));
}

void remote_store::answer(const talk& one, result<lease_reply> reply) {
    one->over = true;
    std::erase(open_, one);
    std::erase(waiting_, one);
    if (only_node_) {
        world_.judges().see(
            seen::node_answered{world_.now(), host_.number(), *only_node_, one->request, reply});
    }
    one->tell(std::move(reply));
}

void remote_store::time_is_up(const talk& one) {
    if (one->over) return;
    std::erase(waiting_, one);
    if (one->confirming) {
        return answer(one, unconfirmed(name_of(one->request), "no answer in time"));
    }
    fail_trip(one, one->was_sent ? errc::outcome_unknown : errc::timed_out, "no answer in time");
}

void remote_store::reset() {
    commands_.open = false;
    commands_.opening = false;
    ++commands_.epoch;
    const std::vector<talk> asked = open_;
    for (const talk& one : asked) {
        if (one->over || !one->waits) continue;
        one->waits = false;
        if (one->confirming) {
            answer(one, unconfirmed(name_of(one->request), "the connection ended"));
        } else if (std::ranges::all_of(one->batch, &wire_command::may_repeat)) {
            one->in_doubt = true;
            waiting_.push_back(one);
        } else {
            fail_trip(one, errc::outcome_unknown, "the connection ended");
        }
    }
    if (!waiting_.empty() && !commands_.opening && !commands_.open) connect();
}

void remote_store::server_gone(unsigned number) {
    if (commands_.node == number && (commands_.open || commands_.opening)) reset();
    if (ear_.node == number) deafen();
}

// The first thing on every connection raises the fences, where no grant looks at the clock itself.
void remote_store::connect() {
    const unsigned epoch = ++commands_.epoch;
    commands_.opening = true;
    commands_.node = server();
    commands_.incarnation = world_.server(commands_.node).incarnation();
    world_.connect(
        {.process = host_.number(),
         .node = commands_.node,
         .incarnation = commands_.incarnation,
         .raises_fences = !options_.careful(),
         .line = commands_.epoch,
         .stand_aside = only_node_ ? world_.how().quarantine : moment(0)},
        host_.guarded([this, epoch, asked = host_.time().now()](bool welcome, const reply& time) {
            connected(epoch, welcome, time, asked);
        }));
    host_.after(connect_patience, [this, epoch] {
        if (epoch == commands_.epoch && !commands_.open) connect();
    });
}

void remote_store::connected(unsigned epoch, bool welcome, const reply& time, time_point asked) {
    if (epoch != commands_.epoch || commands_.open) return;
    if (!welcome) return fail_waiting();
    options_.clocks->greet(time, asked, host_.time().now());
    commands_.open = true;
    commands_.opening = false;
    const std::deque<talk> ready = std::exchange(waiting_, {});
    for (const talk& one : ready) {
        if (!one->over) dispatch(one);
    }
}

// The server refuses connections for now. Who comes later tries again.
void remote_store::fail_waiting() {
    commands_.opening = false;
    ++commands_.epoch;
    const std::deque<talk> refused = std::exchange(waiting_, {});
    for (const talk& one : refused) {
        if (one->over) continue;
        fail_trip(one, one->was_sent ? errc::outcome_unknown : errc::unavailable,
                  "the server was restarted: it has no vote yet");
    }
}

void remote_store::deafen() {
    world_.hang_up(host_.number(), ear_.node);
    ear_.open = false;
    ++ear_.epoch;
    host_.after(20ms, [this, epoch = ear_.epoch] {
        if (epoch == ear_.epoch) subscribe();
    });
}

void remote_store::subscribe() {
    const unsigned epoch = ++ear_.epoch;
    ear_.node = server();
    ear_.incarnation = world_.server(ear_.node).incarnation();
    world_.subscribe(
        {.process = host_.number(),
         .node = ear_.node,
         .incarnation = ear_.incarnation,
         .channel = channel_,
         .wanted =
             [this, host = host_.weak_from_this(), epoch] {
                 const auto self = host.lock();
                 return self != nullptr && !self->dead() && epoch == ear_.epoch;
             }},
        host_.guarded([this, epoch] { subscribed(epoch); }),
        host_.guarded([this, epoch](const std::string& text) { hear_grant(epoch, text); }));
    host_.after(connect_patience, [this, epoch] {
        if (epoch == ear_.epoch && !ear_.open) subscribe();
    });
}

// Something may have been missed while there was no connection.
void remote_store::subscribed(unsigned epoch) {
    if (epoch != ear_.epoch) return;
    ear_.open = true;
    // Who asked before could not be heard.
    world_.judges().see(seen::process_disturbed{world_.now(), host_.number()});
    if (std::exchange(heard_before_, true) && handler_) handler_(poll_again{});
}

void remote_store::hear_grant(unsigned epoch, const std::string& text) {
    if (epoch != ear_.epoch || !handler_) return;
    const auto given = parse_grant(text);
    if (!given) return;
    // No replica has confirmed a handoff yet: its waiter asks again, as command_lease_store does.
    handed_off told = *given;
    if (options_.replicas > 0) told.ttl = duration::zero();
    handler_(told);
}

}  // namespace holdfast::sim
