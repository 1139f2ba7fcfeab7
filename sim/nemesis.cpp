// SPDX-License-Identifier: Apache-2.0
#include "nemesis.hpp"

#include "world.hpp"

#include <algorithm>
#include <array>
#include <functional>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

// Those that happen to somebody; the others are in every message or every clock.
constexpr std::array acts{fault::reset,         fault::cut,          fault::clog,
                          fault::pause,         fault::client_crash, fault::fork,
                          fault::node_crash,    fault::node_loss,    fault::clock_back,
                          fault::clock_forward, fault::script_flush, fault::out_of_memory,
                          fault::failover,      fault::isolation,    fault::skew};

}  // namespace

nemesis::nemesis(world& around) : world_(around), draw_(around.how().seed, 5) {
    std::ranges::copy_if(acts, std::back_inserter(choice_),
                         [&](fault kind) { return around.how().has(kind); });
    if (!around.how().has(fault::node_loss)) std::erase(choice_, fault::skew);
}

void nemesis::plan_next() {
    if (choice_.empty() || stopped_) return;
    const moment wait = draw_.between(1ms, 2 * world_.how().between_faults);
    world_.time().after(wait, [this] {
        if (stopped_) return;
        strike(choice_[draw_.below(choice_.size())]);
        plan_next();
    });
}

void nemesis::strike(fault kind) {
    switch (kind) {
        case fault::reset:
        case fault::cut:
        case fault::clog: return strike_network(kind);
        case fault::isolation: return isolate();
        case fault::skew: return forget_the_time_ahead();
        case fault::pause:
        case fault::client_crash:
        case fault::fork: return strike_program(kind);
        default: return strike_server(kind);
    }
}

void nemesis::strike_network(fault kind) {
    auto& programs = world_.programs();
    process& victim = *programs[draw_.below(programs.size())];
    const auto node = static_cast<unsigned>(draw_.below(world_.how().nodes));
    const moment until = world_.now() + draw_.between(10ms, 3s);
    world_.judges().see(seen::process_disturbed{world_.now(), victim.number()});
    if (kind == fault::clog) {
        world_.net().clog(victim.number(), node, direction::to_server, until);
        world_.net().clog(victim.number(), node, direction::to_program, until);
        return;
    }
    if (kind == fault::cut) {
        const auto ways = draw_.below(3);
        if (ways != 0) world_.net().cut(victim.number(), node, direction::to_server, until);
        if (ways != 1) world_.net().cut(victim.number(), node, direction::to_program, until);
        return;
    }
    const bool messages = draw_.coin();
    victim.after(0ms, [&victim, messages, node] {
        auto& links = victim.links();
        remote_store& link = *links[node % links.size()];
        messages ? link.deafen() : link.reset();
    });
}

// Somebody who holds something, if there is one. What it hears last is old news: it must not
// believe in that for longer than it is true.
void nemesis::isolate() {
    auto& programs = world_.programs();
    std::size_t index = draw_.below(programs.size());
    for (std::size_t i = 0; i < programs.size() && programs[index]->holds() == 0; ++i) {
        index = (index + 1) % programs.size();
    }
    const unsigned victim = programs[index]->number();
    const moment ttl = world_.how().ttl_most;
    const moment begin = world_.now() + draw_.between(5ms, ttl);
    const moment end = begin + draw_.between(ttl, 2 * ttl);
    world_.judges().see(seen::process_disturbed{world_.now(), victim});
    for (unsigned node = 0; node < world_.how().nodes; ++node) {
        world_.net().clog(victim, node, direction::to_program, begin);
    }
    world_.time().at(begin, [this, victim, end] {
        if (stopped_) return;
        for (unsigned node = 0; node < world_.how().nodes; ++node) {
            world_.net().cut(victim, node, direction::to_server, end);
            world_.net().cut(victim, node, direction::to_program, end);
        }
    });
}

// The server that is furthest ahead grants together with as few others as it can. Then these lose
// their data and it goes away: who grants next has seen nothing of what it gave.
void nemesis::forget_the_time_ahead() {
    const unsigned nodes = world_.how().nodes;
    std::vector<unsigned> order(nodes);
    for (unsigned i = 0; i < nodes; ++i) order[i] = i;
    std::ranges::sort(order, std::greater{},
                      [&](unsigned i) { return world_.server(i).time().now(); });
    const moment alone = draw_.between(100ms, 1s);
    const moment away = world_.how().quarantine + draw_.between(500ms, 3s);
    for (unsigned i = nodes / 2 + 1; i < nodes; ++i) {
        world_.restart_server(order[i], alone, std::nullopt);
    }
    world_.time().after(alone, [this, order, nodes, away] {
        if (stopped_) return;
        world_.restart_server(order.front(), away, std::nullopt);
        for (unsigned i = 1; i <= nodes / 2; ++i) {
            world_.restart_server(order[i], 1ms, moment::max());
        }
    });
}

void nemesis::strike_program(fault kind) {
    auto& programs = world_.programs();
    const std::size_t index = draw_.below(programs.size());
    if (kind == fault::client_crash) {
        return draw_.coin() ? world_.close_program(index) : world_.replace_program(index);
    }
    process& victim = *programs[index];
    if (kind == fault::pause) {
        const moment most = draw_.coin() ? 2 * world_.how().ttl_most : 200ms;
        const moment length = draw_.between(1ms, most);
        return draw_.coin() ? victim.pause_when_it_asks(length)
                            : victim.pause(world_.now() + length);
    }
    const std::string wrong = victim.use_in_child();
    if (!wrong.empty()) {
        world_.judges().see(seen::child_misbehaved{world_.now(), victim.number(), wrong});
    }
}

// Any of a quorum; otherwise the one that counts.
unsigned nemesis::draw_server() {
    if (world_.how().servers != shape::quorum) return world_.master();
    return static_cast<unsigned>(draw_.below(world_.how().nodes));
}

void nemesis::strike_server(fault kind) {
    const unsigned number = draw_server();
    const moment down = draw_.between(1ms, 2s);
    node& victim = world_.server(number);
    if (!victim.up()) return;
    switch (kind) {
        case fault::node_crash: return world_.restart_server(number, down, std::nullopt);
        case fault::node_loss:
            return world_.restart_server(number, down, draw_.coin() ? 1s : moment::max());
        case fault::script_flush: {
            const wire_batch flush{{.words = {"SCRIPT", "FLUSH"}}};
            static_cast<void>(victim.carry_out(flush));
            return;
        }
        case fault::out_of_memory:
            world_.disturb_servers();
            victim.engine().out_of_memory(true);
            world_.time().after(
                down, [this, number] { world_.server(number).engine().out_of_memory(false); });
            return;
        case fault::failover: return fail_over();
        default: return set_clock(number, kind);
    }
}

void nemesis::set_clock(unsigned number, fault kind) {
    const moment by = draw_.between(1ms, 2 * world_.how().ttl_most);
    world_.disturb_servers();
    const bool back = kind == fault::clock_back;
    // An heir whose clock is behind takes over what ends by the clock of the one before it.
    const bool heirs = world_.how().servers == shape::replicated;
    if (back || heirs) world_.note_step_back(by);
    world_.server(number).time().step(back ? -by : by);
    world_.judges().see(seen::clock_set{world_.now(), back ? -by : by});
}

// A Sentinel takes seconds to decide. Without a split brain the old master is dead by then.
void nemesis::fail_over() {
    const auto to = static_cast<unsigned>(draw_.below(world_.how().nodes));
    const bool split = world_.how().has(fault::split_brain) && draw_.coin();
    world_.fail_over(to, split ? draw_.between(100ms, 10s) : moment(0));
}

void nemesis::stop() {
    stopped_ = true;
    for (unsigned i = 0; i < world_.how().nodes; ++i)
        world_.server(i).engine().out_of_memory(false);
}

}  // namespace holdfast::sim
