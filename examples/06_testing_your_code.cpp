// SPDX-License-Identifier: Apache-2.0
//
// Testing code that uses Holdfast: no server, no sleeping, in virtual time.
//
// Always on memory:, because a server's time cannot be advanced.
#include <holdfast/holdfast.hpp>
#include <holdfast/virtual_clock.hpp>

#include <functional>
#include <future>
#include <iostream>
#include <thread>

using namespace std::chrono_literals;

// Your code: a report in three steps, by one machine at a time.
enum class ending { complete, someone_else_is_at_it, lost_the_lease };

static ending make_report(holdfast::client& hf, const std::function<void()>& step) {
    const auto held = hf.mutex("report").acquire({.ttl = 30s, .wait = 5s});
    if (!held) return ending::someone_else_is_at_it;
    for (int i = 0; i < 3; ++i) {
        step();
        if (!held->held()) return ending::lost_the_lease;
    }
    return ending::complete;
}

static bool check(const char* sentence, bool holds) {
    std::cout << (holds ? "ok    " : "WRONG ") << sentence << '\n';
    return holds;
}

int main() {
    holdfast::virtual_clock time;  // before the clients: it must outlive them
    auto here = holdfast::open("memory:test", {.time = &time}).value();
    auto there = holdfast::open("memory:test", {.time = &time}).value();  // another machine
    bool good = true;

    good &= check("a report is made", make_report(here, [] {}) == ending::complete);

    // A machine sleeps for a minute: the lease is over when it wakes, and the code notices.
    const auto slept = make_report(here, [&] { time.advance(1min); });
    good &= check("a machine that slept stops", slept == ending::lost_the_lease);

    // Somebody else holds it all the time. advance() does not wait: wait for the effect.
    const auto other = there.mutex("report").acquire().value();
    auto waiting = std::async(std::launch::async, [&] { return make_report(here, [] {}); });
    while (there.list("report").value().at(0).waiters == 0) std::this_thread::yield();
    time.advance(5s);
    good &= check("it gives up in time", waiting.get() == ending::someone_else_is_at_it);
    good &= check("the other one goes on", other.held());
    return good ? 0 : 1;
}
