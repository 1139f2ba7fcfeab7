// SPDX-License-Identifier: Apache-2.0
#include "plan.hpp"

#include "chance.hpp"

#include <algorithm>
#include <array>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, fault_kinds> names{
    "delay",         "loss",      "duplication",  "reset",         "cut",
    "clog",          "pause",     "client_crash", "fork",          "drift",
    "node_crash",    "node_loss", "clock_back",   "clock_forward", "script_flush",
    "out_of_memory", "failover",  "split_brain",  "isolation",     "skew"};

// How often a seed has each of them, in a thousand. (A skew is drawn apart.)
constexpr std::array<unsigned, fault_kinds> how_often{
    500, 350, 350, 300, 300, 200, 350, 300, 100, 500, 250, 250, 80, 80, 200, 120, 700, 300, 350, 0};

// Seeds with a quorum whose servers show different times, in a thousand.
constexpr unsigned skewed_quorums = 300;

// Seeds with a quorum, in a thousand.
constexpr unsigned quorum_seeds = 150;

fault_set draw_faults(chance& draw, const plan& p) {
    fault_set drawn;
    const bool calm = draw.permille(80);  // some seeds have none: what fails there is plain wrong
    for (std::size_t i = 0; i < fault_kinds; ++i) {
        if (how_often[i] == 0) continue;
        const bool hit = draw.permille(how_often[i]);
        drawn[i] = hit && !calm;
    }
    const auto drop = [&](fault kind) { drawn[static_cast<std::size_t>(kind)] = false; };
    if (p.servers != shape::replicated) {
        drop(fault::failover);
        drop(fault::split_brain);
    }
    chance apart(p.seed, 7);
    if (p.servers == shape::quorum && !calm && apart.permille(skewed_quorums)) {
        drawn.set(static_cast<std::size_t>(fault::skew));
    }
    return drawn;
}

// What follows from the faults. The limits are those of the documents: a server's clock that is set
// forward ends leases early; a server that forgets grants again, unless it is in quarantine for as
// long as any lease may live; a fence needs its counter or its clock.
promises what_holds(const plan& p) {
    promises held;
    const bool forgets = p.has(fault::node_loss) || p.has(fault::failover);
    const bool guarded = p.quarantine > moment::zero();
    if (p.has(fault::clock_forward)) held.exclusion = false;
    if (forgets && !guarded) held.exclusion = false;
    if (p.has(fault::split_brain) && p.replicas == 0) held.exclusion = false;
    // A forward step in quarantine ends the quarantine; a back step sets the floor of fences back.
    // A replica whose clock was not set forward does not know how far its master's fences were; the
    // servers of a quorum take no fence from which they could not go on after a quarantine.
    const bool apart = p.has(fault::clock_forward) || p.has(fault::skew);
    const bool behind =
        apart && (p.servers == shape::replicated || (p.servers == shape::quorum && !guarded));
    if (forgets && (p.has(fault::clock_back) || behind)) held.fences = false;
    if (p.has(fault::split_brain) && !held.exclusion) held.fences = false;
    // A replica that is promoted may show another time without anybody having set it.
    held.beliefs = held.exclusion ||
                   (p.has(fault::clock_forward) && !forgets && p.servers != shape::replicated);
    // A quorum has no line, but one at each server.
    if (p.servers == shape::quorum) held.order = false;
    // Without memory a server cannot write a line down, only delete.
    if (p.has(fault::clock_back) || p.has(fault::clock_forward) || forgets ||
        p.has(fault::out_of_memory) || p.replicas > 0) {
        held.order = false;  // nor is a grant that no replica confirmed in time a turn
    }
    // Elsewhere one would have to look at several servers, or at all who hold a name together.
    held.kept = p.servers != shape::quorum && p.held == custom::mutex && !forgets &&
                !p.has(fault::clock_forward);
    return held;
}

void draw_people(chance& draw, plan& p) {
    p.processes = static_cast<unsigned>(draw.between(2, 4));
    p.tasks = static_cast<unsigned>(draw.between(1, 2));
    p.names = draw.permille(700) ? 1 : 2;
    p.safety = draw.between(4s, 14s);
    constexpr std::array<std::array<moment, 2>, 4> ttls{
        {{{60ms, 300ms}}, {{200ms, 2s}}, {{1s, 4s}}, {{100ms, 5s}}}};
    const auto& ttl = ttls[draw.below(ttls.size())];
    p.ttl_least = ttl[0];
    p.ttl_most = ttl[1];
    p.hold_most =
        draw.permille(600) ? draw.between(1ms, p.ttl_least) : draw.between(1ms, 2 * p.ttl_most);
    p.think_most = draw.between(1ms, 800ms);
    constexpr std::array<moment, 4> timeouts{80ms, 300ms, 1s, 3s};
    p.request_timeout = timeouts[draw.below(timeouts.size())];
    p.passes = draw.permille(250) ? static_cast<unsigned>(draw.between(1, 4)) : 0;
    p.barge = draw.permille(150) ? 300 : 0;
    p.try_once = draw.permille(500) ? 300 : 50;
    p.blocking = draw.permille(750);
    const auto kind = draw.below(100);
    p.held = kind < 60 ? custom::mutex : kind < 80 ? custom::shared : custom::permits;
    p.permits = static_cast<unsigned>(draw.between(1, 4));
    if (p.held != custom::mutex) p.tasks = static_cast<unsigned>(draw.between(1, 3));
}

// A quorum has mutexes only. Of three servers, one away and one that lost its data are enough
// to take a majority's memory away; of five it takes more, and finds what counts a majority wrong.
void draw_quorum(chance& draw, plan& p) {
    p.nodes = chance(p.seed, 9).coin() ? 3 : 5;
    p.held = custom::mutex;
    constexpr std::array<moment, 4> timeouts{30ms, 100ms, 500ms, 2s};
    p.node_timeout = timeouts[draw.below(timeouts.size())];
}

void draw_rates(chance& draw, plan& p) {
    p.latency = draw.between(50us, 3ms);
    p.slow = static_cast<unsigned>(draw.between(5, 80));
    p.slowest = draw.between(20ms, 3 * p.ttl_most);
    p.lost = static_cast<unsigned>(draw.between(5, draw.permille(200) ? 300 : 60));
    p.doubled = static_cast<unsigned>(draw.between(20, 300));
    p.between_faults = draw.between(100ms, 2500ms);
    // What is allowed for matters at its bound, so half of all worlds are there.
    p.drift_ppm = std::min<std::int64_t>(draw.between(0, 9000), 4500);
}

}  // namespace

std::string_view to_string(fault kind) noexcept {
    return names[static_cast<std::size_t>(kind)];
}

std::string describe(const fault_set& faults) {
    std::string text;
    for (std::size_t i = 0; i < fault_kinds; ++i) {
        if (!faults[i]) continue;
        if (!text.empty()) text += ' ';
        text += names[i];
    }
    return text.empty() ? "none" : text;
}

plan draw_plan(std::uint64_t seed, const limits& bounds) {
    chance draw(seed, 1);
    plan p;
    p.seed = seed;
    const auto kind = draw.below(100);
    p.servers = kind < 55 ? shape::single : shape::replicated;
    chance apart(seed, 6);
    if (apart.permille(quorum_seeds)) p.servers = shape::quorum;
    if (bounds.servers) p.servers = *bounds.servers;
    p.nodes = p.servers == shape::single ? 1 : 3;
    draw_people(draw, p);
    if (bounds.held) p.held = *bounds.held;
    if (p.servers == shape::quorum) draw_quorum(apart, p);
    draw_rates(draw, p);
    const bool guarded = draw.permille(p.servers == shape::single ? 250 : 850);
    const bool confirmed = draw.permille(400);
    p.faults = draw_faults(draw, p) & ~bounds.without;
    if (guarded) p.quarantine = p.ttl_most + draw.between(0s, 1s);
    if (p.servers == shape::replicated && confirmed) p.replicas = 1;
    if (!p.has(fault::drift)) p.drift_ppm = 0;
    if (!p.has(fault::loss)) p.lost = 0;
    if (!p.has(fault::duplication)) p.doubled = 0;
    if (!p.has(fault::delay)) p.slow = 0;
    // Who is cut off must hold something for longer than it is kept.
    if (p.has(fault::isolation) && apart.coin()) p.hold_most = 3 * p.ttl_most;
    p.safety = std::min(p.safety, bounds.safety);
    p.processes = std::min(p.processes, bounds.processes);
    p.promised = what_holds(p);
    return p;
}

}  // namespace holdfast::sim
