// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include "nemesis.hpp"

#include "core/validity.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

// Between two tries to undo what came late, with its way there.
constexpr moment last_undoing = 2s;

constexpr std::uint64_t most_events = 400'000;

command_lease_options options_for(const plan& p) {
    command_lease_options options;
    // A quorum's servers say at the connect that they stand aside.
    if (p.servers != shape::quorum) options.quarantine = p.quarantine;
    if (p.servers == shape::quorum) options.furthest_floor = p.quarantine;
    options.replicas = p.replicas;
    // What too few have confirmed must be said while the lease lasts and its caller waits: later it
    // would be worth nothing in any case.
    options.replica_wait = std::min({options.replica_wait, p.ttl_least / 3, p.request_timeout / 2});
    return options;
}

// Two clocks are furthest apart if one is as fast and one as slow as they may be: each is at a
// bound as often as anywhere between.
std::int64_t draw_drift(chance& draw, std::int64_t most) {
    const std::int64_t drawn = draw.between(-2 * most, 2 * most);
    return std::clamp(drawn, -most, most);
}

}  // namespace

world::world(const plan& p, checker_set& judges)
    : plan_(p), options_(options_for(p)), judges_(judges), net_(time_, p), draw_(p.seed, 4) {
    net_.on_trouble(
        [this](unsigned number) { judges_.see(seen::process_disturbed{now(), number}); });
}

world::~world() = default;

void world::populate() {
    const bool forgets = plan_.has(fault::node_loss) || plan_.servers == shape::replicated;
    chance apart(plan_.seed, 8);
    for (unsigned i = 0; i < plan_.nodes; ++i) {
        duration offset = draw_.between(-5ms, 5ms);
        // Some of them, and those by less and by more than a quarantine.
        if (plan_.has(fault::skew) && apart.coin()) {
            const moment most = 4 * (plan_.quarantine + plan_.ttl_most);
            offset += apart.between(-most, most);
        }
        const std::int64_t drift = draw_drift(draw_, plan_.drift_ppm);
        servers_.push_back(std::make_unique<node>(time_, draw_.next(), offset, drift));
        servers_.back()->keep_images(forgets || plan_.has(fault::node_crash));
        lags_.push_back(draw_.between(0ms, draw_.coin() ? 5ms : 800ms));
        servers_.back()->is_master = plan_.servers != shape::replicated || i == 0;
    }
    for (unsigned i = 0; i < plan_.processes; ++i) programs_.push_back(make_program());
    for (const auto& one : programs_) one->start();
}

std::shared_ptr<process> world::make_program() {
    const duration offset = draw_.between(0s, 1000s);
    const std::int64_t drift = draw_drift(draw_, plan_.drift_ppm);
    return std::make_shared<process>(*this, processes_++, draw_.next(),
                                     process::machine{offset, drift});
}

void world::replace_program(std::size_t index) {
    programs_[index]->crash();
    programs_[index] = make_program();
    programs_[index]->start();
}

void world::close_program(std::size_t index) {
    programs_[index]->close_client();
    closed_.push_back(std::exchange(programs_[index], make_program()));
    programs_[index]->start();
}

unsigned world::master_for(unsigned process) {
    if (now() < old_master_until_ && process % 2 == 0) return old_master_;
    return master_;
}

// The ways to a server.

void world::at_server(unsigned number, unsigned incarnation, std::function<void(node&)> act,
                      std::function<void()> refused) {
    node& there = *servers_[number];
    if (!there.up() || there.incarnation() != incarnation) return refused();
    if (now() < there.frozen_until()) {
        time_.at(there.frozen_until(), [this, number, incarnation, act = std::move(act),
                                        refused = std::move(refused)]() mutable {
            at_server(number, incarnation, std::move(act), std::move(refused));
        });
        return;
    }
    act(there);
}

/// Commands on their way: copied once, however often they are handed on.
struct world::operation {
    command_parcel what;
    const lease_request request;
    std::function<void(std::vector<reply>)> answered;
    std::function<void()> refused;
    moment sent;
    unsigned copies = 0;  ///< That have arrived.

    [[nodiscard]] network::parcel back() const {
        return {what.process, what.node, direction::to_program};
    }
};

// A request that comes late is undone by whoever sent it: its program repeats what it leaves for as
// long as it may believe that something comes. Not if it comes later than that, or if it came
// twice, of which its program knows nothing; nor if the program is closed by then. A quorum undoes
// by rules of its own.
bool world::is_undone(const operation& one, const ask::acquire& asked) const {
    const auto closed = [&](const auto& gone) { return gone->number() == one.what.process; };
    const moment known = longest_trace(asked.ttl) - last_undoing - plan_.request_timeout;
    return plan_.servers != shape::quorum && one.copies == 1 && now() - one.sent < known &&
           std::ranges::none_of(closed_, closed);
}

void world::note_arrival(const operation& one, bool awaited) {
    const lease_request& request = one.request;
    const auto& owner =
        std::visit([](const auto& asked) -> const owner_token& { return asked.owner; }, request);
    const std::pair there(one.what.node, owner);
    const auto* gone = std::get_if<ask::release>(&request);
    if (const auto* asked = std::get_if<ask::acquire>(&request)) {
        const bool late = !awaited || ended_owners_.contains(there);
        if (late && !is_undone(one, *asked)) late_owners_.emplace(owner.value());
    } else if (std::holds_alternative<ask::renew>(request)) {
        if (!awaited) late_owners_.emplace(owner.value());
    } else if (std::holds_alternative<ask::leave>(request) ||
               (gone != nullptr && gone->only.value == 0)) {
        ended_owners_.insert(there);
    }
}

void world::send_commands(command_parcel what, std::function<void(std::vector<reply>)> answered,
                          std::function<void()> refused) {
    const network::parcel there{what.process, what.node, direction::to_server, what.may_repeat};
    const lease_request& request = what.request;
    const auto one = std::make_shared<operation>(
        operation{std::move(what), request, std::move(answered), std::move(refused), now()});
    net_.carry(there, [this, one] {
        at_server(
            one->what.node, one->what.incarnation,
            [this, one](node& server) { arrive(one, server); },
            [this, one] { net_.carry(one->back(), [one] { one->refused(); }); });
    });
}

void world::arrive(const std::shared_ptr<operation>& one, node& there) {
    if (one->what.line < open_lines_[{one->what.process, one->what.node}]) return;
    // The second of two comes when the first has been answered.
    const bool awaited = ++one->copies == 1 && one->what.awaited();
    note_arrival(*one, awaited);
    if (there.is_master) return carry_on(one, there, {});
    answer(one, std::vector<reply>(
                    one->what.batch.size(),
                    reply::error("READONLY You can't write against a read only replica.")));
}

void world::answer(const std::shared_ptr<operation>& one, std::vector<reply> said) {
    auto kept = std::make_shared<std::vector<reply>>(std::move(said));
    net_.carry(one->back(), [one, kept] { one->answered(*kept); });
}

// Commands of one pipeline are not one step: another connection's may come between them, and the
// server may die there.
void world::carry_on(const std::shared_ptr<operation>& one, node& there,
                     std::vector<reply> so_far) {
    const wire_batch& batch = one->what.batch;
    so_far.push_back(there.carry_out({&batch[so_far.size()], 1}).front());
    if (so_far.size() == batch.size()) return answer(one, std::move(so_far));
    const moment gap = draw_.permille(500) ? moment(0) : draw_.between(0us, 2ms);
    time_.after(gap, [this, one, &there, incarnation = there.incarnation(),
                      so_far = std::move(so_far)]() mutable {
        if (!there.up() || there.incarnation() != incarnation) return;
        carry_on(one, there, std::move(so_far));
    });
}

// When the replica has what was written then; never if it does not follow that master any more.
moment world::acknowledged(unsigned replica, unsigned master, moment written) const {
    if (replica == master || !servers_[replica]->up()) return moment::max();
    const moment when = written + lags_[replica];
    const auto cut = cut_off_.find(master);
    return cut != cut_off_.end() && when > cut->second ? moment::max() : when;
}

void world::confirm(const confirm_parcel& what, std::function<void(unsigned)> answered) {
    const network::parcel back{what.process, what.node, direction::to_program};
    const auto act = [this, back, what, answered](node& /*there*/) {
        std::vector<moment> heard;
        for (unsigned i = 0; i < servers_.size(); ++i) {
            heard.push_back(acknowledged(i, what.node, what.written));
        }
        std::ranges::sort(heard);
        const moment end = now() + what.patience;
        const moment enough = std::max(now(), heard[what.replicas - 1]);
        time_.at(std::min(enough, end), [this, back, answered, heard] {
            const auto count = std::ranges::count_if(heard, [&](moment t) { return t <= now(); });
            net_.carry(back, [answered, count] { answered(static_cast<unsigned>(count)); });
        });
    };
    net_.carry({what.process, what.node, direction::to_server},
               [this, act, node = what.node, incarnation = what.incarnation] {
                   at_server(node, incarnation, act, [] {});
               });
}

void world::connect(const call_parcel& what,
                    std::function<void(bool welcome, const reply& time)> answered) {
    const network::parcel back{what.process, what.node, direction::to_program};
    const auto act = [this, back, what, answered](node& there) {
        // The first command on a connection ends the sender's earlier ones (CLIENT KILL).
        unsigned& open = open_lines_[{what.process, what.node}];
        open = std::max(open, what.line);
        if (!there.is_master) return;  // who asks for a master hangs up, and looks again
        bool welcome = true;
        if (what.stand_aside > moment(0)) {
            const wire_batch ask{{.words = stand_aside_command(what.stand_aside)}};
            welcome = !there.carry_out(ask).front().is_error();
        }
        reply time;
        if (welcome) {
            const wire_batch last{
                {.words = what.raises_fences ? raise_fence_command() : time_command()}};
            time = there.carry_out(last).front();
        }
        net_.carry(back, [answered, welcome, time] { answered(welcome, time); });
    };
    net_.carry({what.process, what.node, direction::to_server},
               [this, act, node = what.node, incarnation = what.incarnation] {
                   at_server(node, incarnation, act, [] {});
               });
}

void world::subscribe(const subscribe_parcel& what, std::function<void()> answered,
                      std::function<void(const std::string&)> heard) {
    network::parcel back{what.process, what.node, direction::to_program};
    back.in_order = true;
    const auto tell = [this, back, heard](const std::string& text) {
        net_.carry(back, [heard, text] { heard(text); });
    };
    const auto act = [this, back, channel = what.channel, wanted = what.wanted, tell,
                      answered](node& there) {
        if (!wanted()) return;
        there.listen(back.process, channel, tell);
        net_.carry(back, answered);
    };
    net_.carry({what.process, what.node, direction::to_server},
               [this, act, node = what.node, incarnation = what.incarnation] {
                   at_server(node, incarnation, act, [] {});
               });
}

void world::hang_up(unsigned process, unsigned node) {
    servers_[node]->stop_listening(process);
}

void world::use_resource(unsigned process, const std::string& name, std::uint64_t holding,
                         fencing_token fence, bool writes, std::uint64_t read_before,
                         std::function<void(std::uint64_t)> answered) {
    const network::parcel there{process, 1000, direction::to_server};
    const network::parcel back{process, 1000, direction::to_program};
    net_.carry(there, [this, back, name, holding, fence, writes, read_before,
                       answered = std::move(answered)] {
        resource& here = resources_[name];
        const bool accepted = fence.value >= here.fence;
        judges_.see(seen::resource_used{now(), name, holding, fence, accepted, writes, read_before,
                                        here.value});
        if (!accepted) return;
        here.fence = fence.value;
        if (writes) here.value = read_before + 1;
        net_.carry(back, [answered, value = here.value] { answered(value); });
    });
}

// What happens to servers.

void world::disturb_servers() {
    judges_.see(seen::servers_disturbed{now()});
}

void world::restart_server(unsigned number, moment down, std::optional<moment> lost) {
    node& there = *servers_[number];
    if (!there.up()) return;
    const moment died = now();
    there.crash();
    disturb_servers();
    end_connections(number);
    time_.after(down, [&there, died, lost] {
        if (lost && *lost == moment::max()) {
            there.start_empty();
        } else {
            there.start(died - lost.value_or(moment(0)));
        }
    });
}

// The old master may go on for a while; those who do not know of the new one go on with it.
// From now on the heir hears nothing of the old master, which is dead, or goes on alone. Others
// need a while to agree on that: for longer than clocks may have drifted apart, or fences that the
// old one gave by its clock could be above the heir's.
void world::fail_over(unsigned to, moment old_goes_on) {
    if (electing_ || to == master_ || !servers_[to]->up()) return;
    electing_ = true;
    disturb_servers();
    cut_off_[master_] = now();
    if (old_goes_on == moment(0)) depose(master_);
    time_.after(draw_.between(200ms, 1s), [this, to, old_goes_on, decided = now()] {
        electing_ = false;
        take_over(to, decided, old_goes_on);
    });
}

void world::take_over(unsigned to, moment decided, moment old_goes_on) {
    node& old = *servers_[master_];
    node& heir = *servers_[to];
    disturb_servers();
    if (!heir.up()) {  // then nobody does
        old.is_master = true;
        cut_off_.erase(master_);
        return;
    }
    heir.take_over(old, decided - lags_[to]);
    cut_off_.erase(to);
    old_master_ = master_;
    master_ = to;
    old_master_until_ = now() + old_goes_on;
    time_.after(old_goes_on, [this, was = old_master_] {
        if (was != master_) depose(was);
    });
}

void world::end_connections(unsigned number) {
    const auto end = [&](const std::shared_ptr<process>& one) {
        one->after(draw_.between(0ms, 30ms),
                   [one = one.get(), number] { one->server_gone(number); });
    };
    std::ranges::for_each(programs_, end);
    std::ranges::for_each(closed_, end);
}

void world::depose(unsigned number) {
    servers_[number]->is_master = false;
    end_connections(number);
}

bool world::run() {
    populate();
    nemesis trouble(*this);
    trouble.plan_next();
    if (!time_.run_until(plan_.safety, most_events)) return false;
    trouble.stop();
    net_.heal();
    std::ranges::fill(lags_, moment(1ms));
    const moment patience = 8 * plan_.ttl_most + 12s + plan_.quarantine + stepped_back_;
    for (const auto& one : programs_) one->finish_up(patience);
    const auto busy = [&] {
        return std::ranges::any_of(programs_, [](const auto& one) { return !one->finished(); });
    };
    const moment end = now() + 2 * patience;
    while (busy() && now() < end) {
        if (!time_.run_until(now() + 200ms, most_events)) return false;
    }
    // What was slow may arrive long after its sender had done with it, and take a name for a ttl.
    while (net_.quiet_at() > now()) {
        if (!time_.run_until(net_.quiet_at(), most_events)) return false;
    }
    if (!time_.run_until(now() + plan_.ttl_most + 8s + plan_.request_timeout + stepped_back_,
                         most_events)) {
        return false;
    }
    std::uint64_t open = 0;
    for (const auto& one : programs_) open += one->calls_open();
    for (const auto& one : closed_) open += one->calls_open();
    judges_.see(seen::world_ended{now(), left_on_servers(), open});
    return true;
}

}  // namespace holdfast::sim
