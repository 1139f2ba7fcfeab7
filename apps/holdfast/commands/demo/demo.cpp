// SPDX-License-Identifier: Apache-2.0
//
// holdfast demo: two programs want the same name, on the embedded engine and on the real clock.
//
// Nothing here is told that does not happen: the actors use the public API, each with a client of
// its own, and every claim is checked where it is made. One that does not hold ends the demo with
// exit code 1. The only thing that is ours is the cut line: ana's requests end as never sent, which
// is all that a client sees of a dead network.
#include "command_line.hpp"
#include "commands/demo/cut_line.hpp"
#include "commands/demo/guarded_register.hpp"
#include "commands/demo/timeline.hpp"
#include "driver/memory/memory_engine.hpp"
#include "lease/commands/command_lease_store.hpp"

#include <holdfast/holdfast.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <future>
#include <stdexcept>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view contended = "orders/42";

// Long enough that the 1 % by which a holder gives up earlier is more than a busy machine's delays.
constexpr duration short_ttl = 1200ms;

/// A claim that did not hold.
struct not_as_told : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void must(bool holds, const std::string& claim) {
    if (!holds) throw not_as_told(claim);
}

double in_ms(duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
}

class story {
public:
    explicit story(const terminal& out) : out_(out), told_(out, clock_) {}

    void handoff();
    void lost_lease();

private:
    struct got {
        lease held;
        time_point when;
    };

    [[nodiscard]] std::shared_ptr<lease_store> store() {
        return std::make_shared<command_lease_store>(engine_, system_entropy());
    }
    /// Sleeps by the clock until `done` or until `at_most` has passed; answers whether it was done.
    template <class Condition>
    bool wait_for(duration at_most, Condition done);
    void rest(duration length) {
        static_cast<void>(wait_for(length, [] { return false; }));
    }
    void say(actor who, bar now, std::string_view what) { told_.say(clock_.now(), who, now, what); }
    [[nodiscard]] lease take(client& who, duration ttl);
    [[nodiscard]] std::future<got> ben_asks(const lease* hers = nullptr);
    void write(fencing_token fence, std::string_view value);

    clock& clock_ = system_clock();
    terminal out_;
    timeline told_;
    std::shared_ptr<memory_engine> engine_ = make_memory_engine();
    std::shared_ptr<cut_line> line_ = std::make_shared<cut_line>(store());
    client ana_{line_, {}};
    client ben_{store(), {}};
    guarded_register register_;
};

template <class Condition>
bool story::wait_for(duration at_most, Condition done) {
    std::mutex mutex;
    std::condition_variable nobody;
    std::unique_lock held(mutex);
    const time_point end = clock_.now() + at_most;
    for (time_point now = clock_.now(); now < end; now = clock_.now()) {
        if (done()) return true;
        clock_.wait_until(held, nobody, std::min<time_point>(end, now + 1ms));
    }
    return done();
}

lease story::take(client& who, duration ttl) {
    auto held = who.mutex(contended).acquire({.ttl = ttl, .wait = 0s});
    must(held.has_value(), "a free name is granted at once");
    return std::move(*held);
}

// Ben asks on a thread of his own, as another program would; answers when he is in the queue. When
// he gets it, nobody may believe in `hers` any more.
std::future<story::got> story::ben_asks(const lease* hers) {
    say(actor::ben, bar::waits, "asks for it, too, and waits");
    auto coming = std::async(std::launch::async, [this, hers] {
        auto held = ben_.mutex(contended).acquire({.ttl = 30s, .wait = 8s});
        const bool alone = hers == nullptr || !hers->held();
        const time_point when = clock_.now();
        must(held.has_value(), "the waiter gets it");
        must(alone, "held() is false before someone else holds the name");
        return got{std::move(*held), when};
    });
    const bool queued = wait_for(2s, [&] {
        const auto names = ben_.list(contended);
        return names && names->size() == 1 && names->front().waiters == 1;
    });
    must(queued, "the waiter is in the engine's queue");
    say(actor::ben, bar::waits, "waits in the engine's queue");
    return coming;
}

void story::write(fencing_token fence, std::string_view value) {
    const auto written = register_.write(fence, value);
    must(written.has_value(), "the register takes the holder's write");
    say(actor::store, bar::idle, fmt::format("\"{}\" with that fence: accepted", value));
}

void story::handoff() {
    told_.chapter("1  Two programs want \"orders/42\"; one at a time, first come, first served");
    lease held = take(ana_, 30s);
    const fencing_token first = held.fence();
    say(actor::ana, bar::holds, fmt::format("holds it, fence {}", first.value));
    auto coming = ben_asks();
    rest(300ms);
    write(first, "ana was here");
    rest(300ms);
    must(coming.wait_for(0s) != std::future_status::ready, "nobody else gets what is held");
    say(actor::ana, bar::idle, "releases it");
    const time_point released = clock_.now();
    must(std::move(held).release().has_value(), "the holder releases what it holds");
    auto [next, when] = coming.get();
    told_.say(when, actor::ben, bar::holds,
              fmt::format("woken by the release and the owner already, {:.3f} ms later, fence {}",
                          in_ms(when - released), next.fence().value));
    must(next.held() && next.fence() > first, "the next holder's fence is larger");
    must(ben_.statistics().handed_off == 1, "the release itself hands the name off");
    write(next.fence(), "then ben was");
    must(std::move(next).release().has_value(), "the holder releases what it holds");
    say(actor::ben, bar::idle, "releases it");
}

void story::lost_lease() {
    told_.chapter("2  A holder is cut off, and does not come back in time");
    lease held = take(ana_, short_ttl);
    const fencing_token old = held.fence();
    say(actor::ana, bar::holds,
        fmt::format("holds it for {} ms at a time, fence {}", short_ttl / 1ms, old.value));
    auto coming = ben_asks(&held);
    line_->cut();
    say(actor::ana, bar::holds, "is cut off: nothing of hers reaches the engine");
    std::atomic<time_point> lost_at{time_point::max()};
    const std::stop_callback told(held.lost(), [&] {
        lost_at = clock_.now();
        told_.say(lost_at, actor::ana, bar::idle, "lost() fires: she must stop");
    });
    must(wait_for(short_ttl, [&] { return held.status() == lease_status::jeopardy; }),
         "a holder that cannot renew is in jeopardy");
    say(actor::ana, bar::shaky, "a renewal failed; it is retried");
    auto [next, when] = coming.get();
    told_.say(when, actor::ben, bar::holds,
              fmt::format("gets it when her lease ends, fence {}", next.fence().value));
    must(wait_for(short_ttl, [&] { return lost_at.load() != time_point::max(); }), "lost() fires");
    must(!held.held() && held.reason() == loss_reason::expired, "the lost lease has its reason");
    must(next.fence() > old, "the next holder's fence is larger");
    write(next.fence(), "ben continues");
    rest(200ms);
    line_->restore();
    say(actor::ana, bar::idle, "is back; a write that she sent before arrives only now");
    const auto late = register_.write(old, "ana, too late");
    must(!late && late.error() == errc::lease_lost && register_.value() == "ben continues",
         "the register refuses the old fence");
    say(actor::store, bar::idle, "\"ana, too late\" with her old fence: refused");
    const auto given_back = std::move(held).release();
    must(!given_back && given_back.error() == errc::lease_lost,
         "the release of a lost lease fails");
    must(next.held(), "the holder is not disturbed by the late one");
    must(std::move(next).release().has_value(), "the holder releases what it holds");
    say(actor::ben, bar::idle, "releases it");
}

exit_code run_demo() {
    const terminal out = terminal::of(STDOUT_FILENO);
    fmt::print("Holdfast on the embedded engine, memory: (the same code runs on redis://).\n");
    try {
        story told(out);
        told.handoff();
        told.lost_lease();
    } catch (const not_as_told& e) {
        std::fflush(stdout);
        fmt::print(stderr, "\nholdfast: the demo failed: {}\n", e.what());
        return exit_code::failure;
    }
    fmt::print("\n{} One holder at a time; a loss is reported; a late write is refused.\n",
               out.in(paint::green, "Done."));
    return exit_code::success;
}

}  // namespace

void add_demo(CLI::App& to, command_list& all) {
    CLI::App* words = to.add_subcommand("demo", "Show what Holdfast does; needs no server");
    words->footer("Exit code 1 if a step fails.\n");
    all.push_back({words, run_demo});
}

}  // namespace holdfast::app
