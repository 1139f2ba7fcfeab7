// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/command_lease_store.hpp"

#include "core/permit_bounds.hpp"
#include "core/require.hpp"
#include "lease/awaited_replies.hpp"
#include "lease/commands/batched_commands.hpp"
#include "lease/commands/lease_adoption.hpp"
#include "lease/commands/lease_eviction.hpp"
#include "lease/commands/lease_listing.hpp"
#include "lease/commands/lease_note.hpp"
#include "lease/commands/lease_scripts.hpp"
#include "lease/commands/server_inquiry.hpp"
#include "runtime/adaptive_yield.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace holdfast {
namespace {

bool waits_in_queue(const lease_request& request) {
    const auto* asked = std::get_if<ask::acquire>(&request);
    return asked != nullptr && asked->otherwise == ask::when_busy::join_queue;
}

/// One that was submitted. It may be answered when its store is gone, the engine being shared.
struct submission {
    submission(std::shared_ptr<const command_lease_options> how, lease_request what, lease_way way,
               std::shared_ptr<contention_memory> memory, std::shared_ptr<known_servers> known,
               time_point now, time_point until, std::string_view ear,
               std::function<void(result<lease_reply>)> done)
        : options(std::move(how)),
          request(std::move(what)),
          talk(*options, request, way, lease_form::one),
          contended(std::move(memory)),
          servers(std::move(known)),
          asked(now),
          give_up(until),
          channel(ear),
          tell(std::move(done)) {}

    const std::shared_ptr<const command_lease_options> options;
    const lease_request request;
    lease_request_machine talk;
    const std::shared_ptr<contention_memory> contended;
    const std::shared_ptr<known_servers> servers;
    const time_point asked;
    const time_point give_up;
    const std::string channel;
    const std::function<void(result<lease_reply>)> tell;
};

// With what a shared pointer needs. A larger one is not among the blocks that malloc() has ready.
static_assert(sizeof(submission) + 2 * sizeof(void*) <= 1032);

void hear(const std::shared_ptr<submission>& one, command_engine& engine,
          std::span<result<reply>> answers);

// The engine lives as long as it answers.
void send(const std::shared_ptr<submission>& one, command_engine& engine) {
    const std::span<const command> said = one->talk.commands();
    if (said.size() == 1) {
        engine.submit(said[0], one->give_up,
                      [one, &engine](result<reply> answer) { hear(one, engine, {&answer, 1}); });
        return;
    }
    engine.submit_together(said, one->give_up, [one, &engine](std::span<result<reply>> answers) {
        hear(one, engine, answers);
    });
}

// Asks once more if the server's quarantine must be over; false if that is not known.
bool send_again(const std::shared_ptr<submission>& one, command_engine& engine) {
    const time_point now = engine.time().now();
    if (!one->servers->older_than(one->talk.quarantined(), one->options->quarantine, now)) {
        return false;
    }
    one->talk.vouch();
    one->talk.speak(one->channel);
    send(one, engine);
    return true;
}

// As is_over(), for one whose caller does not wait: only what takes no session is asked.
void doubt(const std::shared_ptr<submission>& one, command_engine& engine,
           result<lease_reply> meant) {
    const std::string_view server = one->talk.quarantined();
    const time_point now = engine.time().now();
    one->servers->note(server, now);
    if (send_again(one, engine)) return;
    if (one->options->scope == key_scope::server || !one->servers->may_ask(server, now)) {
        return one->tell(std::move(meant));
    }
    detail::text_arena room;
    const std::string_view lock = lock_key(room, one->options->prefix, name_of(one->request));
    const script& age = scripts().server_age;
    const auto script_call =
        words("EVALSHA", age.sha1(), 1, common_note(engine, lock), asked_age_ms(*one->options));
    engine.submit({script_call.view(), repeat::idempotent, &age}, one->give_up,
                  [one, &engine, told = std::move(meant)](result<reply> answer) mutable {
                      if (answer) hear_age(*one->servers, *answer, engine.time().now());
                      if (!send_again(one, engine)) one->tell(std::move(told));
                  });
}

void hear(const std::shared_ptr<submission>& one, command_engine& engine,
          std::span<result<reply>> answers) {
    auto meant = one->talk.hear(answers);
    if (one->talk.contended()) one->contended->note(name_of(one->request), engine.time().now());
    if (meant && !one->talk.quarantined().empty()) return doubt(one, engine, std::move(*meant));
    if (meant) {
        note_clock(*one->options, one->talk.said(), one->request, one->asked, engine.time(),
                   *meant);
        return one->tell(std::move(*meant));
    }
    one->talk.speak(one->channel);
    send(one, engine);
}

}  // namespace

command_lease_store::command_lease_store(std::shared_ptr<command_engine> engine, entropy& chance,
                                         command_lease_options options)
    : engine_(std::move(engine)),
      shared_options_(std::make_shared<const command_lease_options>(std::move(options))),
      may_meet_own_keys_(may_make_own_keys(options_.prefix)),
      who_(*engine_),
      channels_(*engine_, chance, options_.scope) {
    if (options_.replicas > 0)
        lanes_ = std::make_unique<replicated_lanes>(engine_, options_, *servers_);
}

command_lease_store::~command_lease_store() = default;

capabilities command_lease_store::can() const noexcept {
    return {.shared = true,
            .permits = true,
            .resize = true,
            .fencing = true,
            .fair = true,
            .pushes = true,
            .listing = true,
            .eviction_pushes = true};
}

std::optional<error> command_lease_store::unfit_name(const lock_name& name) const {
    if (!may_meet_own_keys_) return std::nullopt;
    detail::text_arena room;
    const std::string_view key = lock_key(room, options_.prefix, name);
    if (!is_shared_key(key) && !is_side_key(key)) return std::nullopt;
    return error{errc::invalid_argument,
                 fmt::format("'{}' is a key of Holdfast's own: with the prefix '{}', '{}' cannot "
                             "be a name",
                             key, options_.prefix, name.value())};
}

std::optional<error> command_lease_store::unfit(const lease_request& request) const {
    const lease_mode mode = std::visit([](const auto& asked) { return asked.mode; }, request);
    if (mode.type == lease_mode::kind::permit) {
        if (auto why = detail::unfit_permits(mode)) return why;
    }
    if (auto why = unfit_name(name_of(request))) return why;
    const duration ttl = ttl_of(request);
    const duration window = options_.quarantine;
    if (window == duration::zero() || ttl <= window) return std::nullopt;
    using std::chrono::milliseconds;
    return error{
        errc::invalid_argument,
        fmt::format("a ttl of {} is longer than the quarantine of {}, which must outlast "
                    "every lease: shorten the ttl, or raise quarantine= in the URL",
                    std::chrono::ceil<milliseconds>(ttl), std::chrono::ceil<milliseconds>(window))};
}

std::string_view command_lease_store::channel_of(const lease_request& request, time_point give_up) {
    if (!waits_in_queue(request)) return {};
    detail::text_arena room;
    return channels_.listen(lock_key(room, options_.prefix, name_of(request)), give_up);
}

// What goes by the fast path costs no command more for it.
void command_lease_store::stay_known(const lease_request& request, lease_way way) {
    if (const auto* kept = std::get_if<ask::renew>(&request)) {
        who_.stay_known(kept->ttl);
    } else if (const auto* asked = std::get_if<ask::acquire>(&request);
               asked != nullptr && (way == lease_way::full || options_.careful())) {
        who_.stay_known(asked->ttl);
    }
}

lease_way command_lease_store::way_for(const lease_request& request, time_point now) const {
    if (!may_take_fast_path(options_, request)) return lease_way::full;
    return contended_->recent(name_of(request), now) ? lease_way::full : lease_way::fast;
}

// Who has just been given the name, and gives it back at once, wants to come again soon: it does
// not sleep, and so does not stand in the next holder's way. Of several that are given back at the
// same time the first one's answer is enough.
lease_form command_lease_store::form_for(const lease_request& request, time_point now) {
    const duration idle = now - talked_.exchange(now, std::memory_order_relaxed);
    const bool at_once =
        idle <= detail::long_pause && std::holds_alternative<ask::release>(request);
    return at_once || options_.careful() ? lease_form::one : lease_form::several;
}

void command_lease_store::exchange(std::span<const lease_request> requests,
                                   std::span<result<lease_reply>> replies, time_point give_up) {
    detail::require(replies.size() == requests.size(), "replies.size() == requests.size()");
    for (const lease_request& request : requests) {
        if (const auto why = unfit(request)) {
            std::ranges::fill(replies, std::unexpected(*why));
            return;
        }
    }
    if (lanes_ != nullptr) {
        exchange_replicated(requests, replies, give_up);
    } else if (requests.size() == 1) {
        exchange_one(requests[0], replies[0], give_up);
    } else {
        exchange_many(requests, replies, give_up);
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (has_note(requests[i])) keep_note(*engine_, options_, requests[i], replies[i]);
    }
}

// Whether to ask once more, because the quarantine that was answered must be over.
bool command_lease_store::outlasted(lease_request_machine& talk, const lock_name& name,
                                    time_point give_up) {
    if (!is_over(*engine_, options_, name, talk.quarantined(), *servers_, give_up)) return false;
    talk.vouch();
    return true;
}

// The usual one, without vectors. A waiter's channel is needed the full way only.
void command_lease_store::exchange_one(const lease_request& request, result<lease_reply>& out,
                                       time_point give_up) {
    const time_point now = engine_->time().now();
    lease_request_machine talk(options_, request, way_for(request, now), form_for(request, now));
    for (;;) {
        stay_known(request, talk.way());
        talk.speak(talk.may_wait() ? channel_of(request, give_up) : std::string_view());
        std::array<result<reply>, lease_commands::most_commands> answers;
        const std::span<result<reply>> replies(answers.data(), talk.commands().size());
        engine_->exchange(talk.commands(), replies, give_up);
        auto meant = talk.hear(replies);
        if (talk.contended()) contended_->note(name_of(request), engine_->time().now());
        if (!meant || outlasted(talk, name_of(request), give_up)) continue;
        note_clock(options_, talk.said(), request, now, engine_->time(), *meant);
        out = std::move(*meant);
        return;
    }
}

void command_lease_store::exchange_many(std::span<const lease_request> requests,
                                        std::span<result<lease_reply>> replies,
                                        time_point give_up) {
    const time_point now = engine_->time().now();
    const auto talks = std::make_unique_for_overwrite<lease_request_machine[]>(requests.size());
    std::vector<std::size_t> left(requests.size());
    for (std::size_t i = 0; i < left.size(); ++i) {
        talks[i].begin(options_, requests[i], way_for(requests[i], now),
                       form_for(requests[i], now));
        left[i] = i;
    }
    bool jointly = options_.scope == key_scope::server;
    while (!left.empty()) {
        detail::batched_commands all(jointly, left.size());
        for (const std::size_t i : left) {
            stay_known(requests[i], talks[i].way());
            talks[i].speak(talks[i].may_wait() ? channel_of(requests[i], give_up)
                                               : std::string_view());
            all.add(talks[i].said());
        }
        const std::span<const command> commands = all.commands();
        std::vector<result<reply>> answers(commands.size());
        engine_->exchange(commands, answers, give_up);
        std::vector<std::size_t> rest;
        for (const std::size_t i : left) {
            const auto own = all.next(answers);
            if (!own) jointly = false;
            auto meant = own ? talks[i].hear(*own) : std::nullopt;
            if (talks[i].contended()) contended_->note(name_of(requests[i]), engine_->time().now());
            if (meant && !outlasted(talks[i], name_of(requests[i]), give_up)) {
                note_clock(options_, talks[i].said(), requests[i], now, engine_->time(), *meant);
                replies[i] = std::move(*meant);
            } else {
                rest.push_back(i);
            }
        }
        left = std::move(rest);
    }
}

// Waits for the lanes. What is not answered in time is unknown; its lane answers it all the same.
void command_lease_store::exchange_replicated(std::span<const lease_request> requests,
                                              std::span<result<lease_reply>> replies,
                                              time_point give_up) {
    const auto all = std::make_shared<detail::awaited_replies>(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
        stay_known(requests[i], lease_way::full);
        lanes_->submit(requests[i], channel_of(requests[i], give_up), give_up,
                       [all, i](result<lease_reply> one) { all->put(i, std::move(one)); });
    }
    all->take(replies, engine_->time(), give_up, "the replicas did not answer in time");
}

void command_lease_store::submit(std::vector<lease_request> requests, time_point give_up,
                                 reply_handler on_reply) {
    const auto tell = std::make_shared<const reply_handler>(std::move(on_reply));
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (const auto why = unfit(requests[i])) {
            (*tell)(i, std::unexpected(*why));
            continue;
        }
        auto done = [tell, i](result<lease_reply> one) { (*tell)(i, std::move(one)); };
        if (!waits_in_queue(requests[i])) {
            submit_one(std::move(requests[i]), {}, give_up, std::move(done));
            continue;
        }
        // Nobody's thread waits for this one: the engine's own must hear it.
        static_cast<void>(engine_->hear_pushes({.until = time_point::min(),
                                                .wake_fd = [] { return -1; },
                                                .over = [] { return true; },
                                                .alone = [] { return false; }}));
        detail::text_arena room;
        const std::string_view lock = lock_key(room, options_.prefix, name_of(requests[i]));
        channels_.when_heard(
            lock, give_up,
            [this, give_up, request = std::move(requests[i]), tell = std::move(done)](
                std::string_view channel) { submit_one(request, channel, give_up, tell); });
    }
}

void command_lease_store::submit_one(lease_request request, std::string_view channel,
                                     time_point give_up,
                                     std::function<void(result<lease_reply>)> done) {
    if (has_note(request)) {
        done = [options = shared_options_, &engine = *engine_, request,
                tell = std::move(done)](result<lease_reply> answer) {
            keep_note(engine, *options, request, answer);
            tell(std::move(answer));
        };
    }
    stay_known(request, lease_way::full);  // a client that submits is asked about by people
    if (lanes_ != nullptr) {
        lanes_->submit(std::move(request), channel, give_up, std::move(done));
        return;
    }
    const time_point now = engine_->time().now();
    const lease_way way = way_for(request, now);
    const auto one =
        std::make_shared<submission>(shared_options_, std::move(request), way, contended_, servers_,
                                     now, give_up, channel, std::move(done));
    one->talk.speak(one->channel);
    send(one, *engine_);
}

// A handoff is written by whoever released, and no replica has confirmed it yet: its waiter asks
// again, by a lane.
void command_lease_store::on_push(push_handler handler) {
    channels_.on_push([this, tell = std::move(handler)](const lease_push& push) {
        talked_.store(engine_->time().now(), std::memory_order_relaxed);
        if (lanes_ == nullptr) return tell(push);
        lease_push told = push;
        if (auto* given = std::get_if<handed_off>(&told)) given->ttl = duration::zero();
        tell(told);
    });
}

// Without a subscription of its own it would read for others, and leave when it likes.
bool command_lease_store::hear_pushes(const push_wait& wait) {
    return channels_.heard() && engine_->hear_pushes(wait);
}

// In a Cluster it is the time of any one node.
result<wall_time> command_lease_store::time_of_day(time_point give_up) {
    const auto told = engine_->execute(words("TIME").idempotent(), give_up);
    if (!told) return std::unexpected(told.error());
    const auto time = time_told(told->elements());
    if (!time) return fail(errc::corrupt, "TIME: " + to_string(*told));
    return *time;
}

result<void> command_lease_store::resize(const lock_name& name, std::uint32_t permits,
                                         time_point give_up) {
    if (auto why = unfit_name(name)) return std::unexpected(std::move(*why));
    if (auto why = detail::unfit_limit(permits)) return std::unexpected(std::move(*why));
    lease_commands one;
    one.make_resize(options_, name, permits);
    const auto said = engine_->execute(one.commands()[0], give_up);
    if (!said) return std::unexpected(said.error());
    return {};
}

result<std::vector<lease_info>> command_lease_store::list(std::string_view prefix,
                                                          time_point give_up) {
    return list_leases(*engine_, options_, prefix, give_up);
}

void command_lease_store::introduce(const client_id& id, const client_label& who) {
    who_.set(id, who);
    channels_.introduce(id);
}

result<std::optional<lease_info>> command_lease_store::inspect(const lock_name& name,
                                                               time_point give_up) {
    if (auto why = unfit_name(name)) return std::unexpected(std::move(*why));
    return inspect_lease(*engine_, options_, name, give_up);
}

result<lease_reply> command_lease_store::adopt(const lease_adoption& asked, time_point give_up) {
    if (auto why = unfit(ask::renew{asked.name, asked.to, asked.mode, asked.ttl})) {
        return std::unexpected(std::move(*why));
    }
    who_.stay_known(asked.ttl);
    return adopt_lease(*engine_, options_, asked, give_up);
}

result<std::uint32_t> command_lease_store::evict(const lock_name& name, std::string_view reason,
                                                 time_point give_up) {
    if (auto why = unfit_name(name)) return std::unexpected(std::move(*why));
    detail::text_arena room;
    return evict_holder(*engine_, options_, name, reason,
                        channels_.prefix_for(lock_key(room, options_.prefix, name)), give_up);
}

result<std::vector<eviction_info>> command_lease_store::evictions(const lock_name& name,
                                                                  time_point give_up) {
    if (auto why = unfit_name(name)) return std::unexpected(std::move(*why));
    return list_evictions(*engine_, options_, name, give_up);
}

}  // namespace holdfast
