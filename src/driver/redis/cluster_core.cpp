// SPDX-License-Identifier: Apache-2.0
#include "driver/redis/cluster_core.hpp"

#include "driver/redis/earlier_try.hpp"
#include "driver/redis/redirect.hpp"

#include <algorithm>

namespace holdfast::redis {
namespace {

constexpr int most_redirects = 5;
constexpr int most_waits = 6;
constexpr duration first_pause = std::chrono::milliseconds(10);
constexpr duration longest_pause = std::chrono::milliseconds(320);
constexpr duration rest_between_refreshes = std::chrono::milliseconds(50);
constexpr duration rest_after_failure = std::chrono::milliseconds(500);
constexpr duration refresh_patience = std::chrono::seconds(1);

}  // namespace

cluster_core::cluster_core(const redis_cluster_target& target, std::shared_ptr<tls_context> tls,
                           clock& time, entropy& chance)
    : time_(time),
      chance_(chance),
      thread_(time, target.refresh_every, [this] { look(); }),
      channels_(std::make_shared<shard_channels>(nodes_, time)),
      nodes_(target, tls, time, chance,
             {.suspect = [this] { suspect(); },
              .channel_moved =
                  [this](const cluster_node& at, const std::string& channel) {
                      channels_->lost(at, channel);
                      suspect();
                  }}),
      global_(
          profile{target.options, std::move(tls), {}},
          [this](time_point give_up) { return where_to_listen(give_up); }, time, chance) {}

cluster_core::~cluster_core() {
    closing_ = true;
    nodes_.close();
    thread_.stop();
    channels_->close();
    send_waiting();
}

// Where commands without a key go: there PUBLISH counts us. Elsewhere, if that did not work.
result<server_address> cluster_core::where_to_listen(time_point give_up) {
    auto first = nodes_.owner(std::nullopt, give_up);
    if (!first) return std::unexpected(first.error());
    const std::scoped_lock guard(heard_mutex_);
    heard_at_ = heard_at_ == (*first)->address ? nodes_.any_address() : (*first)->address;
    return *heard_at_;
}

void cluster_core::suspect() {
    thread_.check_soon(rest_between_refreshes);
}

void cluster_core::look() {
    if (!nodes_.refresh()) thread_.check_soon(rest_after_failure);
    send_waiting();
    channels_->reconcile();
    bool strayed = false;
    {
        const std::scoped_lock guard(heard_mutex_);
        // A node that left the cluster would be silent for ever.
        strayed =
            heard_at_ && nodes_.owner(std::nullopt, time_point::min()) && !nodes_.knows(*heard_at_);
    }
    if (strayed) global_.subscriptions().renew();
    nodes_.bury();
}

cluster_core::step cluster_core::judge(operation& way, repeat again, const result<reply>& answer) {
    if (answer) {
        const redirect r = redirect_of(*answer, way.to->address);
        if (r.type == redirect::kind::none) return step::done;
        if (r.type == redirect::kind::wait) {
            suspect();
            if (++way.waits > most_waits && !way.was_sent) return step::done;
            way.to = {};
            way.asking = false;
            return step::pause;
        }
        if (++way.redirects > most_redirects) return step::done;
        way.asking = r.type == redirect::kind::ask;
        if (!way.asking) nodes_.moved(r.slot, r.to);
        way.to = nodes_.at(r.to);
        return step::again;
    }
    const errc code = answer.error().code;
    if (code != errc::unavailable && code != errc::outcome_unknown) return step::done;
    suspect();
    way.asking = false;
    if (code == errc::outcome_unknown) way.was_sent = true;
    if (way.was_sent) {
        if (again != repeat::idempotent) return step::done;
        way.to = {};
        ++way.waits;
        return step::pause;
    }
    if (!way.to || ++way.redirects > most_redirects) return step::done;
    way.failed_at = way.to;
    way.to = {};
    return step::refresh;
}

// False: there is no other node than the one that failed.
result<bool> cluster_core::route(operation& way, time_point give_up) {
    if (way.to) return true;
    auto node = nodes_.owner(way.slot, give_up);
    if (!node) return std::unexpected(node.error());
    way.to = *node;
    if (!way.failed_at) return true;
    if (!way.slot && way.to == way.failed_at) way.to = nodes_.other_than(way.failed_at);
    const bool elsewhere = !(way.to == way.failed_at);
    way.failed_at = {};
    return elsewhere || way.was_sent;
}

// Doubles, with jitter in its upper half.
duration cluster_core::pause_of(const operation& way) {
    const duration full =
        std::min(longest_pause, first_pause * (1 << std::clamp(way.waits - 1, 0, 6)));
    const auto half = static_cast<std::uint64_t>(full.count()) / 2 + 1;
    return full / 2 + duration(static_cast<duration::rep>(chance_.below(half)));
}

// False: there is no time for that.
bool cluster_core::rest(step why, const operation& way, time_point give_up) {
    if (why == step::again) return true;
    const time_point now = time_.now();
    if (why == step::refresh) {
        nodes_.await_refresh(std::min(give_up, now + refresh_patience));
        return time_.now() < give_up;
    }
    const time_point until = now + pause_of(way);
    return until < give_up && thread_.pause_until(until);
}

result<reply> cluster_core::final_answer(const operation& way, result<reply> answer) {
    if (way.was_sent) keep_in_doubt(answer);
    return answer;
}

result<std::unique_ptr<subscription>> cluster_core::subscribe(std::string_view channel,
                                                              channel_scope scope,
                                                              push_handler handler,
                                                              time_point give_up) {
    if (time_.now() >= give_up) {
        return fail(errc::timed_out, "SUBSCRIBE: the deadline had passed before the call");
    }
    if (scope == channel_scope::sharded) {
        return channels_->subscribe(channel, std::move(handler), give_up);
    }
    return global_.subscribe(channel, channel_scope::global, std::move(handler), give_up);
}

void cluster_core::read(redis_statistics& out) const {
    nodes_.read(out);
    global_.read(out);
}

}  // namespace holdfast::redis
