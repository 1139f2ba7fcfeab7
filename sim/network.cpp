// SPDX-License-Identifier: Apache-2.0
#include "network.hpp"

#include <algorithm>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

// A waiter is heard of in time as long as nothing takes longer than this …
constexpr moment long_time = 300ms;

}  // namespace

moment network::travel_time(const parcel& what) {
    const path here{{what.process, what.node}, what.way};
    moment trip = draw_.between(plan_.latency / 2, plan_.latency * 3 / 2);
    const bool slow = draw_.permille(plan_.slow);
    const moment extra = draw_.between(moment(0), plan_.slowest);
    if (slow && !healed_) trip += extra;
    moment arrival = time_.now() + trip;
    const auto clogged = clogged_until_.find(here);
    if (clogged != clogged_until_.end() && !healed_) arrival = std::max(arrival, clogged->second);
    if (what.in_order) {
        moment& last = last_arrival_[here];
        arrival = last = std::max(arrival, last);
    }
    return arrival;
}

void network::send(const parcel& what, const delivery& arrive) {
    const moment arrival = travel_time(what);
    // … nor half of what a handoff is kept for.
    const moment in_time = std::min(long_time, plan_.ttl_least / 2);
    if (arrival - time_.now() > in_time) trouble_(what.process);
    ++on_their_way_[what.process];
    last_of_all_ = std::max(last_of_all_, arrival);
    time_.at(arrival, [this, process = what.process, arrive] {
        --on_their_way_[process];
        arrive();
    });
}

void network::carry(const parcel& what, delivery arrive) {
    const path here{{what.process, what.node}, what.way};
    const auto cut = cut_until_.find(here);
    const bool is_cut = cut != cut_until_.end() && time_.now() < cut->second;
    const bool lost = draw_.permille(plan_.lost);
    const bool again = draw_.permille(plan_.doubled);
    if (!healed_ && (is_cut || lost)) {
        trouble_(what.process);
        return;
    }
    send(what, arrive);
    if (healed_ || !what.may_repeat || !again) return;
    // The second may be carried out alone, and granted something of which nobody hears.
    trouble_(what.process);
    send(what, arrive);
}

void network::cut(unsigned process, unsigned node, direction way, moment until) {
    cut_until_[{{process, node}, way}] = until;
}

void network::clog(unsigned process, unsigned node, direction way, moment until) {
    clogged_until_[{{process, node}, way}] = until;
}

void network::heal() {
    healed_ = true;
}

unsigned network::on_their_way(unsigned process) const {
    const auto found = on_their_way_.find(process);
    return found == on_their_way_.end() ? 0 : found->second;
}

}  // namespace holdfast::sim
