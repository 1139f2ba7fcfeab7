// SPDX-License-Identifier: Apache-2.0
#include "process/supervision.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/engine/span_text.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <utility>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;

// How often the lease is looked at if nothing happens, at least: the guardian is told of renewals
// then.
constexpr duration longest_nap = 250ms;

// How often we look for those whom the command left behind. Far too often for the number of their
// group to go to anybody else meanwhile.
constexpr duration short_nap = 10ms;

// Whoever does not die by SIGKILL hangs in the kernel; we do not wait for that.
constexpr duration after_kill = 2s;

}  // namespace

std::string why_lost(const lease& held) {
    switch (held.reason()) {
        case loss_reason::evicted:
            return fmt::format("someone broke it, with the words \"{}\"", held.loss_text());
        case loss_reason::missing: return "it was deleted, or the engine forgot it";
        default: return "its lease ran out before it could be renewed";
    }
}

supervision::supervision(parts on, settings how)
    : on_(on),
      how_(std::move(how)),
      clock_(system_clock()),
      lost_bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    const int bell = lost_bell_.get();
    on_lost_.emplace(on_.held.lost(), [bell] {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t put = ::write(bell, &one, sizeof one);
    });
}

supervision::ending supervision::run() {
    while (!code_) wait(step());
    on_.front.take_back(on_.command.group());
    look_at_lease(clock_.now());
    end_the_rest();
    return {*code_, why_lost_};
}

// Everything that is to be done now; answers how long there is nothing more, unless something
// happens.
duration supervision::step() {
    while (const auto signal = on_.signals.next()) hear(*signal);
    on_.command.bury_orphans();
    if (const auto seen = on_.command.look()) {
        if (seen->type == child_event::kind::ended) {
            code_ = seen->number;
            return 0s;
        }
        on_stop(seen->number);
    }
    const time_point now = clock_.now();
    look_at_lease(now);
    if (!kill_at_) return std::clamp<duration>(on_.held.remaining() / 8, 1ms, longest_nap);
    if (now >= *kill_at_) {
        on_.command.send(SIGKILL);
        return longest_nap;
    }
    return std::min<duration>(longest_nap, *kill_at_ - now);
}

void supervision::look_at_lease(time_point now) {
    const duration left = on_.held.remaining();
    if (on_.held.status() == lease_status::lost || left == duration::zero()) {
        ask_to_end(now, why_lost(on_.held));
        return;
    }
    on_.guard.extend(now + left);
    if (left > how_.grace) low_since_.reset();
    if (code_ || left > how_.grace) return;
    // Who was stopped and goes on finds little left, and a renewal on its way: that gets a moment.
    if (!low_since_) low_since_ = now;
    const bool failed = on_.held.status() == lease_status::jeopardy;
    if (failed || now - *low_since_ >= how_.grace / 4) {
        ask_to_end(now, "its lease cannot be renewed, and ends soon");
    }
}

void supervision::ask_to_end(time_point now, std::string why) {
    if (kill_at_ || !why_lost_.empty()) return;
    why_lost_ = std::move(why);
    if (code_) return;  // it ended by itself meanwhile
    const duration left = on_.held.remaining();
    kill_at_ = now + (left > duration::zero() ? std::min(left, how_.grace) : how_.grace);
    on_.command.send(SIGTERM);
    on_.command.send(SIGCONT);  // one that is stopped must hear it too
}

void supervision::hear(int signal) {
    if (signal == SIGCHLD) return;  // we look anyway
    if (signal == SIGCONT) on_.front.give(on_.command.group());
    on_.command.send(signal);
}

// A shell that stopped the command must see us stop too, or it would wait for ever. The lease goes
// on while we are stopped only until its ttl is over.
void supervision::on_stop(int signal) {
    if (!on_.front.exists()) return;
    if (signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU) return;
    if (signal != SIGTSTP && on_.front.is_ours()) {  // it wants the terminal, and may have it
        on_.front.give(on_.command.group());
        on_.command.send(SIGCONT);
        return;
    }
    on_.front.take_back(on_.command.group());
    const auto left = std::chrono::floor<std::chrono::seconds>(on_.held.remaining());
    how_.tell(
        fmt::format("stopped; the lease ends, and the command with it, in {} s unless it "
                    "goes on",
                    left.count()));
    ::kill(::getpid(), SIGSTOP);
}

void supervision::end_the_rest() {
    on_.command.send(SIGTERM);  // its own process id is not anybody else's yet
    on_.command.send(SIGCONT);
    on_.command.bury();
    time_point now = clock_.now();
    const time_point kill_at = kill_at_.value_or(now + std::min(how_.grace, on_.held.remaining()));
    bool killed = false;
    while (on_.command.bury_orphans(), on_.command.leaves_others()) {
        now = clock_.now();
        look_at_lease(now);
        bool hurry = false;
        while (const auto signal = on_.signals.next()) hurry = hurry || asks_to_end(*signal);
        if (killed && now >= kill_at + after_kill) return;
        if (!killed && (hurry || now >= kill_at)) {
            on_.command.send(SIGKILL);
            killed = true;
        }
        wait(short_nap);
    }
}

void supervision::wait(duration at_most) const {
    if (at_most <= duration::zero()) return;
    std::array<pollfd, 2> seen{pollfd{on_.signals.readable(), POLLIN, 0},
                               pollfd{lost_bell_.get(), POLLIN, 0}};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(at_most).count();
    // Once it has rung, the bell has nothing more to say.
    ::poll(seen.data(), why_lost_.empty() ? 2 : 1, static_cast<int>(ms));
}

}  // namespace holdfast::app
