// SPDX-License-Identifier: Apache-2.0
//
// The map of topics is the truth; the connection is made to agree with it. A change while the
// connection is up adds bytes to `pending_`; a new connection subscribes to the whole map.
//
// A sharded channel whose slot leaves the server is told of (an unsubscription that nobody asked
// for, or MOVED as the answer to SSUBSCRIBE), forgotten here, and found again by the cluster.
#include "driver/redis/subscriber.hpp"

#include "core/hash_slot.hpp"
#include "driver/redis/encode.hpp"
#include "runtime/fork_watch.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace holdfast::redis {
namespace {

constexpr std::size_t channels_per_command = 500;

}  // namespace

std::string_view subscriber::verb_of(channel_scope scope, bool add) {
    if (scope == channel_scope::sharded) return add ? "SSUBSCRIBE" : "SUNSUBSCRIBE";
    return add ? "SUBSCRIBE" : "UNSUBSCRIBE";
}

void listener::tell(const push_event& what) {
    const std::scoped_lock guard(mutex);
    if (!ended) handler(what);
}

void listener::end() {
    const std::scoped_lock guard(mutex);
    ended = true;
}

class live_subscription final : public subscription {
public:
    live_subscription(std::shared_ptr<subscriber> home, subscriber::key k,
                      std::shared_ptr<listener> who)
        : home_(std::move(home)), key_(std::move(k)), who_(std::move(who)) {}
    ~live_subscription() override {
        if (generation_ != detail::fork_generation()) return;
        who_->end();
        home_->leave(key_, who_);
    }

private:
    std::shared_ptr<subscriber> home_;
    subscriber::key key_;
    std::shared_ptr<listener> who_;
    unsigned generation_ = detail::fork_generation();
};

subscriber::subscriber(const profile& p, server_locator where, clock& time, entropy& chance,
                       std::shared_ptr<counters> counts)
    : profile_(p),
      where_(std::move(where)),
      time_(time),
      chance_(chance),
      counts_(std::move(counts)) {}

subscriber::~subscriber() {
    stop();
}

void subscriber::stop() {
    {
        lock held(mutex_);
        stopping_ = true;
        changed_.notify_all();
        wake_reader();
        while (reader_ == role::caller) changed_.wait(held);
    }
    nudge_.raise();
    if (thread_.joinable()) thread_.join();
}

void subscriber::queue_words(std::string_view verb, channel_scope scope,
                             const std::vector<std::string>& channels) {
    // A sharded command may name channels of one slot only, so there each goes alone.
    const std::size_t most = scope == channel_scope::sharded ? 1 : channels_per_command;
    for (std::size_t at = 0; at < channels.size(); at += most) {
        std::vector<std::string_view> words{verb};
        const std::size_t end = std::min(channels.size(), at + most);
        words.insert(words.end(), channels.begin() + static_cast<std::ptrdiff_t>(at),
                     channels.begin() + static_cast<std::ptrdiff_t>(end));
        append_command(pending_, words);
    }
}

result<std::unique_ptr<subscription>> subscriber::subscribe(std::string_view channel,
                                                            channel_scope scope,
                                                            push_handler handler,
                                                            time_point give_up) {
    const key k{scope, std::string(channel)};
    auto who = std::make_shared<listener>(std::move(handler));
    auto made = std::make_unique<live_subscription>(shared_from_this(), k, who);
    lock held(mutex_);
    join(held, k, who);
    while (true) {
        const auto found = topics_.find(k);
        if (found == topics_.end()) {
            held.unlock();
            return fail(errc::unavailable, "SUBSCRIBE: the channel's slot is at another node");
        }
        if (found->second.confirmed) return made;
        const time_point now = time_.now();
        const bool refused = !problem_.empty() &&
                             (problem_code_ == errc::denied || problem_code_ == errc::unsupported);
        if (now >= give_up || stopping_ || refused) {
            const errc code = problem_.empty() ? errc::timed_out : problem_code_;
            const std::string why = problem_.empty() ? "no confirmation in time" : problem_;
            held.unlock();  // `made` leaves the map as it dies
            return fail(code, "SUBSCRIBE: " + why);
        }
        time_.wait_until(held, changed_, give_up);
    }
}

void subscriber::join(lock& /*held*/, const key& k, const std::shared_ptr<listener>& who) {
    topic& t = topics_[k];
    const bool first = t.told->empty();
    auto more = std::make_shared<listeners>();
    more->reserve(t.told->size() + 1);
    more->assign(t.told->begin(), t.told->end());
    more->push_back(who);
    t.told = std::move(more);
    if (first && up_) {
        ++asked_[k];
        queue_words(verb_of(k.scope, true), k.scope, {k.channel});
    }
    if (!thread_.joinable() && !stopping_) thread_ = std::thread([this] { serve(); });
    wake_reader();
}

std::unique_ptr<subscription> subscriber::adopt(std::string_view channel, channel_scope scope,
                                                push_handler handler) {
    const key k{scope, std::string(channel)};
    auto who = std::make_shared<listener>(std::move(handler));
    auto made = std::make_unique<live_subscription>(shared_from_this(), k, who);
    bool confirmed = false;
    {
        lock held(mutex_);
        join(held, k, who);
        topic& t = topics_[k];
        confirmed = t.confirmed;
        t.heard = true;
    }
    if (confirmed) who->tell({push_event::kind::gap, k.channel, {}});
    return made;
}

void subscriber::on_message(std::function<void()> told) {
    message_ = std::move(told);
}

void subscriber::on_moved(std::function<void(const std::string& channel)> told) {
    const lock held(mutex_);
    moved_ = std::move(told);
}

void subscriber::renew(const server_address* spared) {
    const lock held(mutex_);
    if (!up_ || (spared != nullptr && connection_->address() == *spared)) return;
    renewing_ = true;
    wake_reader();
}

void subscriber::leave(const key& k, const std::shared_ptr<listener>& who) {
    const lock held(mutex_);
    const auto found = topics_.find(k);
    if (found == topics_.end()) return;
    listeners others = *found->second.told;
    std::erase(others, who);
    if (!others.empty()) {
        found->second.told = std::make_shared<listeners>(std::move(others));
        return;
    }
    topics_.erase(found);
    if (!up_) return;
    queue_words(verb_of(k.scope, false), k.scope, {k.channel});
    wake_reader();
}

// ["subscribe", channel, count] or ["message", channel, payload], with an s in front if sharded.
void subscriber::dispatch(const reply& pushed) {
    const auto& parts = pushed.elements();
    if (parts.size() < 3) return;  // the answer to PING
    std::string_view what = parts[0].text();
    channel_scope scope = channel_scope::global;
    if (what == "ssubscribe" || what == "smessage" || what == "sunsubscribe") {
        scope = channel_scope::sharded;
        what.remove_prefix(1);
    }
    const key k{scope, parts[1].text()};
    if (what == "subscribe") return confirm(k);
    if (what == "unsubscribe" && scope == channel_scope::sharded) {
        // Ours is answered when the topic is gone, or when it has been asked for again.
        return forget_moved([&](const key& one, const topic& t) {
            return one == k && t.confirmed && !asked_.contains(k);
        });
    }
    if (what == "message" && profile_.tracked_prefix && parts[2].type() != reply::kind::string) {
        return deliver_changes(parts[1].text(), parts[2]);
    }
    if (what == "message") deliver({scope, parts[1].text(), parts[2].text()});
}

void subscriber::deliver(const published& message) {
    std::shared_ptr<const listeners> who;
    {
        const lock held(mutex_);
        const auto found = topics_.find(key_view{message.scope, message.channel});
        if (found == topics_.end()) return;
        who = found->second.told;
    }
    counts_->pushed.add();
    if (message_) message_();
    const push_event event{push_event::kind::message, message.channel, message.text};
    for (const auto& one : *who) one->tell(event);
}

// Nothing in the place of keys: all of them (FLUSHALL).
void subscriber::deliver_changes(const std::string& channel, const reply& keys) {
    if (keys.type() != reply::kind::array) return tell_gap();
    for (const reply& one : keys.elements()) {
        deliver({channel_scope::global, channel, one.text()});
    }
}

void subscriber::tell_gap() {
    std::vector<std::pair<std::string, std::shared_ptr<const listeners>>> all;
    {
        const lock held(mutex_);
        for (const auto& [k, t] : topics_) {
            if (t.heard) all.emplace_back(k.channel, t.told);
        }
    }
    for (const auto& [channel, who] : all) {
        for (const auto& one : *who) one->tell({push_event::kind::gap, channel, {}});
    }
}

void subscriber::forget_moved(const std::function<bool(const key&, const topic&)>& which) {
    std::vector<std::string> gone;
    std::function<void(const std::string&)> told;
    {
        const lock held(mutex_);
        for (const auto& [k, t] : topics_) {
            if (which(k, t)) gone.push_back(k.channel);
        }
        for (const std::string& channel : gone) {
            topics_.erase(key{channel_scope::sharded, channel});
            asked_.erase(key{channel_scope::sharded, channel});
        }
        told = moved_;
        changed_.notify_all();
    }
    if (!told) return;
    for (const std::string& channel : gone) told(channel);
}

void subscriber::confirm(const key& k) {
    std::shared_ptr<const listeners> who;
    {
        const lock held(mutex_);
        // A channel that was left and joined again has an older confirmation on its way: it does
        // not count, for an UNSUBSCRIBE follows it.
        const auto asked = asked_.find(k);
        if (asked != asked_.end() && --asked->second > 0) return;
        if (asked != asked_.end()) asked_.erase(asked);
        const auto found = topics_.find(k);
        if (found == topics_.end()) return;
        topic& t = found->second;
        if (!t.confirmed && t.heard) who = t.told;
        t.confirmed = true;
        t.heard = true;
        backoff_ = {};
        changed_.notify_all();
    }
    if (!who) return;
    const push_event gap{push_event::kind::gap, k.channel, {}};
    for (const auto& one : *who) one->tell(gap);
}

}  // namespace holdfast::redis
