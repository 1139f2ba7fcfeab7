// SPDX-License-Identifier: Apache-2.0
//
// Submitted commands: the same operations, without a thread that waits. What is put off waits in
// the background thread's list; what came before there was a map, in a line of its own that keeps
// the order.
#include "driver/redis/cluster_core.hpp"

#include "core/command_keys.hpp"

#include <array>

namespace holdfast::redis {
namespace {

constexpr duration refresh_pause = std::chrono::milliseconds(100);

}  // namespace

void cluster_core::submit(const command& c, time_point give_up, command_engine::completion done) {
    const auto slot = slot_of(c);
    if (!slot) return done(std::unexpected(slot.error()));
    auto made = std::make_unique<call>(c, give_up, std::move(done));
    made->way.slot = *slot;
    {
        const std::scoped_lock guard(waiting_mutex_);
        if (!may_send_) waiting_.push_back(std::move(made));
    }
    if (made) return send(std::move(made));
    suspect();
}

// After each look at the map, on the background thread.
void cluster_core::send_waiting() {
    while (true) {
        std::vector<std::unique_ptr<call>> batch;
        {
            const std::scoped_lock guard(waiting_mutex_);
            batch.swap(waiting_);
            if (batch.empty()) {
                may_send_ = may_send_ || nodes_.mapped();
                return;
            }
        }
        const bool mapped = nodes_.mapped() && !closing_;
        for (auto& one : batch) {
            if (mapped) {
                send(std::move(one));
            } else if (closing_) {
                one->done(fail(errc::cancelled, "the client was closed"));
            } else if (time_.now() >= one->give_up) {
                one->done(fail(errc::timed_out, nodes_.problem().detail));
            } else {
                one->done(std::unexpected(nodes_.problem()));
            }
        }
    }
}

void cluster_core::send(std::unique_ptr<call> c) {
    call& one = *c;
    const auto found = route(one.way, time_point::min());
    if (!found) return settle(std::move(c), std::unexpected(found.error()));
    if (!*found) return c->done(final_answer(one.way, std::unexpected(one.why)));
    const node_use to = one.way.to;
    command now = one.what.view();
    now.again = repeat::never;
    std::vector<std::string_view> rewritten;
    const bool asking = one.way.asking;
    auto told = [this, c = std::move(c)](result<reply> answer) mutable {
        settle(std::move(c), std::move(answer));
    };
    if (!asking) return to->link->submit(now, one.give_up, std::move(told));
    if (now.body != nullptr) {
        rewritten.assign(now.args.begin(), now.args.end());
        rewritten[0] = rewritten[0].ends_with("RO") ? "EVAL_RO" : "EVAL";
        rewritten[1] = now.body->source();
        now = command{rewritten};
    }
    const std::array<command, 2> both{command{asking_words}, now};
    to->link->submit_together(both, one.give_up,
                              [told = std::move(told)](std::span<result<reply>> answers) mutable {
                                  const bool refused = answers[0] && answers[0]->is_error();
                                  told(std::move(answers[refused ? 0 : 1]));
                              });
}

// On a link's thread, mostly.
void cluster_core::settle(std::unique_ptr<call> c, result<reply> answer) {
    operation& way = c->way;
    const bool routed = static_cast<bool>(way.to);
    const step next = routed ? judge(way, c->what.view().again, answer) : step::done;
    const time_point now = time_.now();
    if (next == step::done || closing_ || now >= c->give_up) {
        return c->done(final_answer(way, std::move(answer)));
    }
    if (next == step::again) return send(std::move(c));
    if (!answer) c->why = answer.error();
    const time_point when = now + (next == step::refresh ? refresh_pause : pause_of(way));
    if (when >= c->give_up) return c->done(final_answer(way, std::move(answer)));
    thread_.later(when, [this, c = std::move(c)]() mutable {
        if (!closing_) return send(std::move(c));
        c->done(final_answer(c->way, fail(errc::cancelled, "the client was closed")));
    });
}

}  // namespace holdfast::redis
