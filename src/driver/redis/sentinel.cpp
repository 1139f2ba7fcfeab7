// SPDX-License-Identifier: Apache-2.0
//
// The engine of a master that Sentinel watches: a standalone server whose place may change.
//
// Every new connection asks the sentinels first, and is used only if ROLE says "master". What is
// left is a connection that outlives its server's mastership:
//
// - A demoted master answers READONLY. Nothing was carried out, so the connection is retired and
//   the command repeated on the new master, until the caller's deadline.
// - A master that was cut off or paused, and is back, does not know yet that it was replaced, and
//   takes writes that will be lost. So the sentinels are asked every second, and when they announce
//   a switch; connections to a server that they no longer name are retired, before it says a word.
#include "core/submit_sequence.hpp"
#include "driver/redis/background.hpp"
#include "driver/redis/fork_guard.hpp"
#include "driver/redis/sentinel_group.hpp"
#include "driver/redis/server_link.hpp"

#include <holdfast/redis/redis_topology.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace holdfast {
namespace {

constexpr duration first_pause = std::chrono::milliseconds(10);
constexpr duration longest_pause = std::chrono::milliseconds(200);
constexpr duration rest_between_checks = std::chrono::milliseconds(50);

bool demoted(const result<reply>& answer) {
    return answer && answer->is_error() && answer->text().starts_with("READONLY");
}

// A refusal is followed by a time without a master, in which a repeated command is not even sent.
bool still_following(const result<reply>& answer) {
    return demoted(answer) || (!answer && answer.error().code == errc::unavailable);
}

struct submitted {
    submitted(const command& c, time_point until, command_engine::completion told)
        : what(c), give_up(until), done(std::move(told)) {}
    detail::owned_command what;
    time_point give_up;
    time_point started{};
    duration pause{};
    bool refused = false;  ///< READONLY was answered once.
    command_engine::completion done;
};

class sentinel_core : public std::enable_shared_from_this<sentinel_core> {
public:
    sentinel_core(const redis_sentinel_target& target, std::shared_ptr<redis::tls_context> tls,
                  std::shared_ptr<redis::tls_context> sentinel_tls, clock& time, entropy& chance)
        : time_(time),
          chance_(chance),
          thread_(time, target.check_every, [this] { look(); }),
          sentinels_(target, std::move(sentinel_tls), time, chance),
          server_(
              redis::profile{target.options, std::move(tls), "master"},
              [this](time_point give_up) { return sentinels_.ask(give_up); }, time, chance) {}
    ~sentinel_core() {
        closing_ = true;
        thread_.stop();
    }

    void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                  time_point give_up) {
        start();
        const time_point started = time_.now();
        server_.exchange(commands, replies, give_up);
        if (std::ranges::any_of(replies, demoted)) follow(commands, replies, give_up, started);
    }

    result<reply> transaction(std::span<const command> commands, time_point give_up) {
        start();
        bool refused = false;
        for (duration pause{};; pause = next(pause)) {
            const time_point started = time_.now();
            result<reply> answer = server_.transaction(commands, give_up);
            const bool readonly =
                answer && answer->is_error() && to_error(*answer).detail.starts_with("READONLY");
            refused = refused || readonly;
            if (readonly) leave(started);
            if (!readonly && !(refused && still_following(answer))) return answer;
            if (!rest(pause, give_up)) return answer;
        }
    }

    void submit(const command& c, time_point give_up, command_engine::completion done) {
        start();
        send(std::make_unique<submitted>(c, give_up, std::move(done)));
    }

    // What a demoted master has refused is sent in turn: it may take some tries until there is
    // another one.
    void submit_together(std::span<const command> commands, time_point give_up,
                         command_engine::joint_completion done) {
        start();
        server_.submit_together(
            commands, give_up,
            [this, all = std::make_unique<detail::turns>(commands, give_up), started = time_.now(),
             done = std::move(done)](std::span<result<reply>> answers) mutable {
                if (closing_ || !std::ranges::all_of(answers, demoted)) return done(answers);
                leave(started);
                detail::submit_sequence(*this, std::move(all), std::move(done));
            });
    }

    result<std::unique_ptr<command_session>> open_session(std::string_view key, time_point give_up);

    result<std::unique_ptr<subscription>> subscribe(std::string_view channel,
                                                    channel_scope /*scope*/, push_handler handler,
                                                    time_point give_up) {
        start();
        return server_.subscribe(channel, channel_scope::global, std::move(handler), give_up);
    }

    result<std::unique_ptr<subscription>> watch_keys(std::string_view prefix, push_handler handler,
                                                     time_point give_up) {
        start();
        return server_.watch_keys(prefix, std::move(handler), give_up);
    }

    /// This server refused a write: connections as old as that are not used again.
    void leave(time_point seen) {
        server_.retire_before(seen);
        thread_.check_soon(rest_between_checks);
    }

    void read(redis_statistics& out) const { server_.read(out); }
    [[nodiscard]] bool hear_pushes(const push_wait& wait) {
        return server_.subscriptions().attend(wait);
    }
    [[nodiscard]] clock& time() const noexcept { return time_; }

private:
    void start() {
        if (started_.load(std::memory_order_acquire)) return;
        std::call_once(once_, [this] {
            sentinels_.on_switch([this] { thread_.check_soon(rest_between_checks); });
            thread_.start();
            started_.store(true, std::memory_order_release);
        });
    }

    // By where each connection leads, not by what was named last: one of them may have followed
    // already, and another have been made meanwhile to where it was told before.
    void look() {
        const time_point before = time_.now();
        if (const auto where = sentinels_.ask(time_point::max())) {
            server_.retire_before(before, &*where);
        }
    }

    static duration next(duration pause) {
        return std::clamp<duration>(pause * 2, first_pause, longest_pause);
    }

    // False: there is no time left. The first repeat is at once: the sentinels may know by now.
    bool rest(duration pause, time_point give_up) {
        const time_point now = time_.now();
        if (now + pause >= give_up) return false;
        if (pause == duration::zero()) return true;
        const auto half = static_cast<std::uint64_t>(pause.count()) / 2 + 1;
        return thread_.pause_until(now + pause / 2 +
                                   duration(static_cast<duration::rep>(chance_.below(half))));
    }

    void follow(std::span<const command> commands, std::span<result<reply>> replies,
                time_point give_up, time_point started) {
        std::vector<std::size_t> which;
        std::vector<command> again;
        for (std::size_t i = 0; i < commands.size(); ++i) {
            if (demoted(replies[i])) which.push_back(i);
        }
        std::vector<result<reply>> answers;
        bool refused = true;
        for (duration pause{}; !which.empty(); pause = next(pause)) {
            if (refused) leave(started);
            if (!rest(pause, give_up)) return;
            again.clear();
            for (const std::size_t i : which) again.push_back(commands[i]);
            answers.assign(which.size(), {});
            started = time_.now();
            server_.exchange(again, answers, give_up);
            refused = std::ranges::any_of(answers, demoted);
            std::vector<std::size_t> left;
            for (std::size_t i = 0; i < which.size(); ++i) {
                if (still_following(answers[i])) left.push_back(which[i]);
                replies[which[i]] = std::move(answers[i]);
            }
            which = std::move(left);
        }
    }

    void send(std::unique_ptr<submitted> call) {
        submitted& c = *call;
        c.started = time_.now();
        server_.submit(c.what.view(), c.give_up,
                       [this, call = std::move(call)](result<reply> answer) mutable {
                           settle(std::move(call), std::move(answer));
                       });
    }

    // On the link's thread.
    void settle(std::unique_ptr<submitted> call, result<reply> answer) {
        const bool readonly = demoted(answer);
        call->refused = call->refused || readonly;
        const time_point now = time_.now();
        const bool follows = call->refused && still_following(answer);
        if (!follows || closing_ || now + call->pause >= call->give_up) {
            return call->done(std::move(answer));
        }
        if (readonly) leave(call->started);
        const time_point when = now + call->pause;
        call->pause = next(call->pause);
        thread_.later(when, [this, call = std::move(call)]() mutable {
            if (closing_) {
                return call->done(fail(errc::cancelled, "the client was closed"));
            }
            send(std::move(call));
        });
    }

    clock& time_;
    entropy& chance_;
    std::atomic<bool> closing_ = false;
    std::atomic<bool> started_ = false;
    std::once_flag once_;
    redis::background thread_;  ///< Stopped first, and destroyed last: the others poke it.
    redis::sentinel_group sentinels_;
    redis::server_link server_;
};

// A session that tells of a demotion: then no connection of that age is used again, itself
// included.
class followed_session final : public command_session {
public:
    followed_session(std::unique_ptr<command_session> inner, std::weak_ptr<sentinel_core> core)
        : inner_(std::move(inner)), core_(std::move(core)) {}

    void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                  time_point give_up) override {
        inner_->exchange(commands, replies, give_up);
        if (!std::ranges::any_of(replies, demoted)) return;
        if (const auto core = core_.lock()) core->leave(core->time().now());
    }

private:
    std::unique_ptr<command_session> inner_;
    std::weak_ptr<sentinel_core> core_;
};

result<std::unique_ptr<command_session>> sentinel_core::open_session(std::string_view /*key*/,
                                                                     time_point give_up) {
    start();
    auto inner = server_.open_session(give_up);
    if (!inner) return std::unexpected(inner.error());
    return std::make_unique<followed_session>(std::move(*inner), weak_from_this());
}

}  // namespace

result<std::unique_ptr<redis_engine>> make_redis_sentinel(redis_sentinel_target target, clock& time,
                                                          entropy& chance) {
    std::shared_ptr<redis::tls_context> tls;
    std::shared_ptr<redis::tls_context> sentinel_tls;
    for (auto [rules, context] : {std::pair(&target.options.tls, &tls),
                                  std::pair(&target.sentinel_options.tls, &sentinel_tls)}) {
        if (!rules->enabled) continue;
        auto made = redis::tls_context::make(*rules);
        if (!made) return std::unexpected(made.error());
        *context = std::move(*made);
    }
    return std::make_unique<redis::fork_guard<sentinel_core>>(std::make_shared<sentinel_core>(
        target, std::move(tls), std::move(sentinel_tls), time, chance));
}

}  // namespace holdfast
