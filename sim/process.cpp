// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include "task.hpp"
#include "world.hpp"

#include "runtime/fork_watch.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

constexpr moment for_ever = 100h;

// Of a belief.
constexpr duration last_moment = 1us;

}  // namespace

process::process(world& around, unsigned number, std::uint64_t seed, machine runs_on)
    : world_(around),
      number_(number),
      draw_(seed, 3),
      entropy_(seed),
      clock_(around.time(), runs_on.offset, runs_on.drift_ppm),
      tasks_(around.how().tasks) {}

process::~process() {
    if (!dead_) crash();
}

void process::start() {
    client_options options;
    options.request_timeout = world_.how().request_timeout;
    options.time = &clock_;
    options.chance = &entropy_;
    runtime_ = std::make_shared<detail::lock_runtime>(
        std::make_shared<recording_store>(world_, *this, open_store()), options,
        detail::upkeep::by_hand);
    for (task& one : tasks_) think(one);
}

std::shared_ptr<lease_store> process::open_store() {
    const plan& how = world_.how();
    if (how.servers != shape::quorum) {
        links_.push_back(std::make_shared<remote_store>(world_, *this, world_.lease_options()));
        return links_.front();
    }
    std::vector<quorum_node> nodes;
    for (unsigned i = 0; i < how.nodes; ++i) {
        links_.push_back(std::make_shared<remote_store>(world_, *this, world_.lease_options(), i));
        nodes.push_back({std::to_string(i), links_.back()});
    }
    quorum_options options;
    options.node_timeout = how.node_timeout;
    options.background = detail::upkeep::by_hand;
    quorum_ = std::make_shared<quorum_lease_store>(std::move(nodes), clock_, entropy_, options);
    return quorum_;
}

bool process::blocking() const noexcept {
    return world_.how().blocking;
}

std::string process::client_prefix() const {
    return runtime_->id().value();
}

// Time and background.

void process::at(time_point when, event what) {
    if (when == time_point::max()) return;
    auto kept = std::make_shared<event>(std::move(what));
    world_.time().at(clock_.when_it_shows(when), guarded([kept] { (*kept)(); }));
}

void process::after(moment wait, event what) {
    auto kept = std::make_shared<event>(std::move(what));
    world_.time().after(wait, guarded([kept] { (*kept)(); }));
}

void process::happen(event what) {
    if (world_.now() < paused_until_) {
        while_paused_.push_back(std::move(what));
        return;
    }
    busy_since_idle_ = true;
    what();
    run_background();
}

void process::run_background() {
    if (dead_ || stepping_) return;
    stepping_ = true;
    const time_point next = step();
    stepping_ = false;
    look_whether_idle();
    if (next == time_point::max()) return;
    const moment when = std::max(clock_.when_it_shows(next), world_.now() + 1us);
    if (when >= planned_step_ && planned_step_ > world_.now()) return;
    planned_step_ = when;
    world_.time().at(when, guarded([this, when] {
                         if (planned_step_ == when) planned_step_ = moment::max();
                     }));
}

// What the quorum does may wake somebody, and whoever is awake may have asked the quorum.
time_point process::step() {
    if (quorum_ == nullptr) return runtime_->step();
    static_cast<void>(quorum_->step());
    const time_point next = runtime_->step();
    return std::min(next, quorum_->step());
}

void process::server_gone(unsigned node) {
    for (const auto& one : links_) one->server_gone(node);
}

std::size_t process::under_way() const {
    std::size_t sum = 0;
    for (const auto& one : links_) sum += one->under_way();
    return sum;
}

void process::pause(moment until) {
    if (until <= paused_until_) return;
    world_.judges().see(seen::process_disturbed{world_.now(), number_});
    pauses_.emplace_back(world_.now(), until);
    paused_until_ = until;
    world_.time().at(until, [me = weak_from_this()] {
        if (const auto self = me.lock()) self->resume();
    });
}

void process::has_asked() {
    const moment length = std::exchange(pause_next_, moment(0));
    if (length > moment(0)) pause(world_.now() + length);
}

void process::resume() {
    if (dead_ || world_.now() < paused_until_) return;
    while (!while_paused_.empty() && !dead_) {
        event next = std::move(while_paused_.front());
        while_paused_.pop_front();
        busy_since_idle_ = true;
        next();
        run_background();
    }
}

moment process::stood_still_since(moment began) const {
    moment sum{0};
    for (const auto& [from, until] : pauses_) {
        sum += std::max(moment(0), std::min(until, world_.now()) - std::max(from, began));
    }
    return sum;
}

void process::crash() {
    dead_ = true;
    world_.judges().see(seen::process_crashed{world_.now(), number_});
    while_paused_.clear();
    for (task& one : tasks_) one.mine.reset();
    if (runtime_ != nullptr) static_cast<void>(runtime_->close());
    tasks_.clear();
    runtime_.reset();
    quorum_.reset();
    links_.clear();
}

void process::close_client() {
    happen([this] {
        closing_ = true;
        for (const task& one : tasks_) {
            if (one.mine == nullptr) continue;
            const lease& held = one.mine->held;
            world_.judges().see(
                seen::holding_ended{world_.now(), one.mine->number, !held.held(), held.reason()});
        }
        runtime_->begin_close();
        for (task& one : tasks_) {
            if (one.mine == nullptr) continue;
            --holds_;
            one.mine.reset();
        }
    });
}

std::string process::use_in_child() {
    detail::pretend_fork(1);
    std::string wrong;
    const std::size_t asked = under_way();
    for (const task& one : tasks_) {
        if (one.mine == nullptr) continue;
        if (one.mine->held.held()) wrong = "a child holds its parent's lease";
        if (one.mine->held.reason() != loss_reason::forked) wrong = "a child is not told why";
    }
    bool refused = false;
    const auto name = lock_name::make("n0");
    runtime_->acquire_async(*name, {}, {}, [&](const result<lease>& got) { refused = !got; });
    if (!refused) wrong = "a child acquired by its parent's client";
    static_cast<void>(runtime_->close());
    detail::pretend_fork(-1);
    if (under_way() != asked) wrong = "a child used its parent's connection";
    return wrong;
}

void process::look_whether_idle() {
    const bool rests = calls_open_ == 0 && holds_ == 0 && under_way() == 0 &&
                       runtime_->statistics().held == 0 && step() == time_point::max();
    if (!rests || !busy_since_idle_ || world_.net().on_their_way(number_) > 0) return;
    busy_since_idle_ = false;
    world_.judges().see(seen::process_idle{world_.now(), number_, world_.left_of(*this)});
}

// Work.

void process::finish_up(moment patience) {
    finishing_ = true;
    last_patience_ = patience;
    pause_next_ = moment(0);
    paused_until_ = world_.now();
    if (!pauses_.empty()) {
        pauses_.back().second = std::min(pauses_.back().second, world_.now());
    }
    resume();
}

bool process::finished() const {
    return std::ranges::all_of(tasks_, &task::done);
}

void process::think(task& who) {
    if (who.last || closing_) {
        who.done = true;
        return;
    }
    const moment pause = draw_.between(moment(0), world_.how().think_most);
    after(pause, [this, &who] { begin_call(who); });
}

acquire_options process::options_of(const task& who) {
    const plan& how = world_.how();
    acquire_options options;
    options.ttl = draw_.between(how.ttl_least, how.ttl_most);
    options.wait = draw_.between(20ms, 4s);
    if (draw_.permille(how.try_once)) options.wait = duration::zero();
    if (draw_.permille(30)) options.wait = forever;
    options.local_passes = how.passes;
    options.barging = draw_.permille(how.barge);
    if (draw_.permille(50)) options.max_hold = draw_.between(10ms, 2 * how.ttl_most);
    if (who.last) {
        options.wait = last_patience_;
        options.barging = false;
        options.max_hold = forever;
    }
    options.stop = who.stop.get_token();
    return options;
}

lease_mode process::draw_mode() {
    const plan& how = world_.how();
    const bool shares = draw_.permille(600);
    const auto some = static_cast<std::uint32_t>(draw_.between(1, how.permits));
    if (how.held == custom::permits) return {lease_mode::kind::permit, some, how.permits};
    if (how.held == custom::shared && shares) return {lease_mode::kind::shared};
    return {};
}

void process::begin_call(task& who) {
    if (closing_) return;
    who.last = finishing_;
    who.stop = {};
    const acquire_options options = options_of(who);
    const auto name =
        lock_name::make(who.last ? "n0" : "n" + std::to_string(draw_.below(world_.how().names)));
    const std::uint64_t call = world_.next_number();
    const moment began = world_.now();
    moment must_end = options.wait == forever ? for_ever : began + options.wait + 100ms;
    if (options.wait == duration::zero())
        must_end = began + 2 * world_.how().request_timeout + 100ms;
    const lease_mode mode = draw_mode();
    who.mode = mode;
    world_.judges().see(seen::call_began{began, call, number_, name->value(), mode,
                                         options.wait != duration::zero(), must_end, who.last});
    ++calls_open_;
    if (!who.last && draw_.permille(40)) {
        after(draw_.between(1ms, 2s), [&who, stop = who.stop]() mutable { stop.request_stop(); });
    }
    runtime_->acquire_async(*name, options, mode,
                            [this, me = weak_from_this(), &who, call, began](result<lease> got) {
                                const auto self = me.lock();
                                if (self == nullptr || dead_) return;
                                call_ended(who, call, began, std::move(got));
                            });
}

void process::call_ended(task& who, std::uint64_t call, moment began, result<lease> got) {
    --calls_open_;
    world_.time().mark(got ? got->fence().value : static_cast<std::uint64_t>(got.error().code));
    if (got) {
        who.mine = std::make_unique<holding>(world_.next_number(), std::move(*got));
        ++holds_;
        world_.judges().see(seen::holding_began{world_.now(), who.mine->number, call, number_,
                                                who.mine->held.name().value(), who.mode,
                                                who.mine->held.fence(), who.mine.get()});
        if (world_.how().promised.kept) watch_belief(who);
    }
    world_.judges().see(seen::call_ended{
        world_.now(), call, got ? std::nullopt : std::optional(got.error().code),
        who.mine != nullptr ? who.mine->held.fence() : fencing_token{}, stood_still_since(began)});
    who.mine != nullptr ? work(who) : think(who);
}

// Not by its own events: it may stand still then, and whoever stands still believes on.
void process::watch_belief(task& who) {
    const time_point end = clock_.now() + who.mine->held.remaining() - last_moment;
    const auto look = [this, me = weak_from_this(), &who, number = who.mine->number] {
        const auto self = me.lock();
        if (self == nullptr || dead_ || who.mine == nullptr || who.mine->number != number) return;
        const lease& held = who.mine->held;
        if (held.remaining() > 2 * last_moment) return watch_belief(who);
        if (!held.held()) return;
        world_.judges().see(seen::belief_ending{world_.now(), number_, held.name().value(),
                                                held.fence(),
                                                world_.has_lease(*this, held.name().value())});
    };
    world_.time().at(clock_.when_it_shows(end), look);
}

void process::work(task& who) {
    use_resource(who, false);
    const moment most = finishing_ ? moment(20ms) : world_.how().hold_most;
    after(draw_.between(moment(0), most), [this, &who, number = who.mine->number] {
        if (who.mine != nullptr && who.mine->number == number) end_work(who);
    });
}

void process::use_resource(task& who, bool writes) {
    holding& mine = *who.mine;
    world_.use_resource(number_, mine.held.name().value(), mine.number, mine.held.fence(), writes,
                        mine.read.value_or(0),
                        guarded([this, &who, number = mine.number](std::uint64_t value) {
                            if (who.mine == nullptr || who.mine->number != number) return;
                            who.mine->read = value;
                        }));
}

// Some look whether they still hold it, some do not: the resource refuses what is late.
void process::end_work(task& who) {
    const bool careless = draw_.coin();
    if (who.mine->read && (careless || who.mine->held.held())) use_resource(who, true);
    if (draw_.permille(200)) {
        after(draw_.between(0ms, 5ms), [this, &who, number = who.mine->number] {
            if (who.mine != nullptr && who.mine->number == number) release(who);
        });
    } else {
        release(who);
    }
}

void process::release(task& who) {
    const auto mine = std::move(who.mine);
    const bool lost = !mine->held.held();
    world_.judges().see(seen::holding_ended{world_.now(), mine->number, lost, mine->held.reason()});
    --holds_;
    if (draw_.permille(250) && !who.last) {  // its destructor gives it back
        const lease left = std::move(mine->held);
        after(0ms, [this, &who] { think(who); });
        return;
    }
    const moment began = world_.now();
    ++calls_open_;
    std::move(mine->held)
        .release_async(
            [this, me = weak_from_this(), &who, began, number = mine->number](result<void> said) {
                const auto self = me.lock();
                if (self == nullptr || dead_) return;
                --calls_open_;
                world_.time().mark(said ? 0 : static_cast<std::uint64_t>(said.error().code));
                world_.judges().see(seen::release_ended{
                    world_.now(), number, said ? std::nullopt : std::optional(said.error().code),
                    began, began + world_.how().request_timeout, stood_still_since(began)});
                think(who);
            });
}

}  // namespace holdfast::sim
