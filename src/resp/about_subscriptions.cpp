// SPDX-License-Identifier: Apache-2.0
//
// SUBSCRIBE, PSUBSCRIBE, SSUBSCRIBE and their ends.
//
// What is heard goes into the mailbox, on the thread of whoever published, and from there to the
// client. Each channel is confirmed by itself, with how many the client hears now.
#include "resp/service.hpp"

#include "driver/memory/call.hpp"

#include <fmt/format.h>

namespace holdfast::resp {
namespace {

using hears = memory::message_hub::hears;

// Bounded, so that one client cannot make every publication slow.
constexpr std::size_t most_subscriptions = 10'000;

struct subscription_kind {
    hears what;
    letter::kind arrives_as;
    listener_map peer::* heard;
    std::string_view joined;
    std::string_view left;
};

constexpr subscription_kind kinds[] = {
    {hears::published, letter::kind::message, &peer::channels, "subscribe", "unsubscribe"},
    {hears::pattern, letter::kind::pattern_message, &peer::patterns, "psubscribe", "punsubscribe"},
    {hears::sharded, letter::kind::shard_message, &peer::shard_channels, "ssubscribe",
     "sunsubscribe"},
};

const subscription_kind& kind_of(std::string_view command) {
    switch (command.front()) {
        case 'p': return kinds[1];
        case 's': return command[1] == 's' || command.starts_with("sun") ? kinds[2] : kinds[0];
        default: return kinds[0];
    }
}

// Shard channels are counted for themselves.
std::int64_t count_of(const peer& p, const subscription_kind& kind) {
    return static_cast<std::int64_t>(kind.what == hears::sharded
                                         ? p.shard_channels.size()
                                         : p.channels.size() + p.patterns.size());
}

push_handler handler_for(std::shared_ptr<mailbox> mail, std::uint64_t client,
                         const subscription_kind& kind, std::string_view name) {
    return [mail = std::move(mail), client, what = kind.arrives_as,
            name = std::string(name)](const push_event& e) {
        if (e.type == push_event::kind::gap) {
            return mail->put({.client = client, .what = letter::kind::overflow});
        }
        mail->put({.client = client,
                   .what = what,
                   .channel = std::string(e.channel),
                   .payload = std::string(e.payload),
                   .pattern = what == letter::kind::pattern_message ? name : std::string()});
    };
}

}  // namespace

void service::subscribe(memory::call& c) {
    peer& p = *current_;
    const subscription_kind& kind = kind_of(c.spec->name);
    if (p.subscriptions() + c.count() - 1 > most_subscriptions) {
        memory::refuse(
            fmt::format("ERR a connection hears at most {} channels", most_subscriptions));
    }
    reply_writer out = writer(p);
    for (std::size_t i = 1; i < c.count(); ++i) {
        listener_map& heard = p.*kind.heard;
        if (!heard.contains(c.arg(i))) {
            heard.emplace(c.arg(i),
                          core_->hub().add(c.arg(i), handler_for(mail_, c.from.id, kind, c.arg(i)),
                                           kind.what));
        }
        out.push(3);
        out.string(kind.joined);
        out.string(c.arg(i));
        out.integer(count_of(p, kind));
    }
    if (out.overflowed()) p.broken = true;
}

void service::unsubscribe(memory::call& c) {
    peer& p = *current_;
    const subscription_kind& kind = kind_of(c.spec->name);
    listener_map& heard = p.*kind.heard;
    std::vector<std::string> names;
    for (std::size_t i = 1; i < c.count(); ++i) names.emplace_back(c.arg(i));
    if (c.count() == 1) {
        for (const auto& [name, one] : heard) names.push_back(name);
    }
    reply_writer out = writer(p);
    const auto confirm = [&](const std::string* name) {
        out.push(3);
        out.string(kind.left);
        name == nullptr ? out.nil() : out.string(*name);
        out.integer(count_of(p, kind));
    };
    for (const std::string& name : names) {
        if (const auto found = heard.find(name); found != heard.end()) {
            core_->hub().end(found->second);
            heard.erase(found);
        }
        confirm(&name);
    }
    if (names.empty()) confirm(nullptr);
    if (out.overflowed()) p.broken = true;
}

void service::forget_subscriptions(peer& p) {
    for (const subscription_kind& kind : kinds) {
        for (const auto& [name, one] : p.*kind.heard) core_->hub().end(one);
        (p.*kind.heard).clear();
    }
}

}  // namespace holdfast::resp
