// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "chance.hpp"
#include "checkers/events.hpp"
#include "drifting_clock.hpp"
#include "recording_store.hpp"
#include "remote_store.hpp"

#include "lease/quorum/quorum_lease_store.hpp"
#include "lock/lock_runtime.hpp"

#include <holdfast/entropy.hpp>
#include <holdfast/lease.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

/// One program that uses Holdfast: a clock, a client, and some tasks that acquire, work with a
/// guarded resource, and release.
///
/// The client is the library's own, with its background run by hand: after everything that happens
/// to the program, and at the moment that the background named. A program that stands still does
/// nothing of all this; what came meanwhile is there when it goes on.
namespace holdfast::sim {

class world;

class process : public std::enable_shared_from_this<process> {
public:
    /// The clock of the machine it runs on.
    struct machine {
        duration offset;
        std::int64_t drift_ppm;
    };
    process(world& around, unsigned number, std::uint64_t seed, machine runs_on);
    ~process();

    /// Begins its work. Apart from the constructor, because timers refer to it.
    void start();

    [[nodiscard]] unsigned number() const noexcept { return number_; }
    [[nodiscard]] drifting_clock& time() noexcept { return clock_; }
    [[nodiscard]] bool dead() const noexcept { return dead_; }
    [[nodiscard]] bool blocking() const noexcept;
    /// Its connections: one pair, or one pair to each server of a quorum.
    [[nodiscard]] std::vector<std::shared_ptr<remote_store>>& links() noexcept { return links_; }
    [[nodiscard]] std::string client_prefix() const;

    /// The connections to that server end.
    void server_gone(unsigned node);

    /// Stands still until then.
    void pause(moment until);
    /// Stands still for so long as soon as it has asked something, before it can be answered.
    void pause_when_it_asks(moment length) { pause_next_ = length; }
    void has_asked();
    /// How many leases it holds, or has lost and not noticed.
    [[nodiscard]] std::size_t holds() const noexcept { return holds_; }
    /// Is gone at this instruction.
    void crash();
    /// Closes its client, whatever is under way, and does no more.
    void close_client();
    /// A child uses what it inherited; answers what it could do that it must not, or nothing.
    [[nodiscard]] std::string use_in_child();
    /// No more work but the last: each task acquires once more, and must be granted.
    void finish_up(moment patience);
    [[nodiscard]] bool finished() const;
    [[nodiscard]] std::size_t calls_open() const noexcept { return calls_open_; }

    /// Lets something happen to this program: now, when it goes on, or never if it is gone.
    void at(time_point when, event what);
    void after(moment wait, event what);

    /// The same for something that comes from outside.
    template <class Call>
    [[nodiscard]] auto guarded(Call what) {
        return guarded_by(std::function(std::move(what)));
    }

private:
    struct holding;
    struct task;

    template <class... Args>
    [[nodiscard]] std::function<void(Args...)> guarded_by(std::function<void(Args...)> what) {
        return [me = weak_from_this(), what = std::move(what)](Args... args) {
            const auto self = me.lock();
            if (self == nullptr || self->dead_) return;
            self->happen(
                [what, ... kept = std::move(args)]() mutable { what(std::move(kept)...); });
        };
    }

    void happen(event what);
    void run_background();
    time_point step();
    [[nodiscard]] std::size_t under_way() const;
    [[nodiscard]] std::shared_ptr<lease_store> open_store();
    void resume();
    void look_whether_idle();
    [[nodiscard]] moment stood_still_since(moment began) const;

    void think(task& who);
    void begin_call(task& who);
    void call_ended(task& who, std::uint64_t call, moment began, result<lease> got);
    void watch_belief(task& who);
    void work(task& who);
    void use_resource(task& who, bool writes);
    void end_work(task& who);
    void release(task& who);
    [[nodiscard]] acquire_options options_of(const task& who);
    [[nodiscard]] lease_mode draw_mode();

    world& world_;
    const unsigned number_;
    chance draw_;
    seeded_entropy entropy_;
    drifting_clock clock_;
    std::vector<std::shared_ptr<remote_store>> links_;
    std::shared_ptr<quorum_lease_store> quorum_;  ///< Made of the links, if there is one.
    std::shared_ptr<detail::lock_runtime> runtime_;
    std::deque<task> tasks_;
    std::deque<event> while_paused_;
    moment paused_until_{0};
    std::vector<std::pair<moment, moment>> pauses_;
    moment planned_step_ = moment::max();
    std::size_t calls_open_ = 0;
    std::size_t holds_ = 0;
    moment pause_next_{0};
    moment last_patience_{0};
    bool finishing_ = false;
    bool closing_ = false;
    bool dead_ = false;
    bool busy_since_idle_ = false;
    bool stepping_ = false;
};

}  // namespace holdfast::sim
