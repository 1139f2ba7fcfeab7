// SPDX-License-Identifier: Apache-2.0
// style: long file, because the world and its parts call each other
#include "push/room_sim.hpp"

#include "driver/memory/memory_engine.hpp"
#include "push/consumer_plan.hpp"
#include "push/frame_text.hpp"
#include "push/push_ground.hpp"
#include "push/room_commands.hpp"
#include "push/room_track.hpp"

#include <holdfast/virtual_clock.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <random>

namespace holdfast::push::test {
namespace {

using namespace std::chrono_literals;

const std::string the_room = "r";
constexpr std::uint64_t messages_sent = 25;
constexpr std::size_t comet_count = 2;
constexpr std::size_t client_count = 3;

// A script with one line of it changed.
script changed(const script& of, std::string_view what, std::string_view into) {
    std::string text = of.source();
    const std::size_t at = text.find(what);
    if (at == std::string::npos) throw std::logic_error("the script has no such line");
    return script(text.replace(at, what.size(), into));
}

class world;

/// A consumer, one step at a time.
class sim_consumer {
public:
    sim_consumer(world& in, std::size_t number, std::string name);
    void step();
    [[nodiscard]] bool may_step(time_point now) const { return now >= paused_until_; }
    void pause(time_point until) { paused_until_ = until; }

private:
    enum class stage : std::uint8_t { idle, look, acquire, broadcast, release };
    void read();
    void claim();
    void take(const reply& list);
    void acknowledge(const std::vector<std::string>& ids);
    void look();
    void acquire();
    void broadcast();
    void release();

    world& in_;
    std::string name_;
    counters counts_;
    consumer_plan plan_;
    stage next_ = stage::idle;
    std::uint64_t fence_ = 0;
    time_point paused_until_{};
};

/// A Comet with its loop.
class sim_comet final : public comet_link {
public:
    explicit sim_comet(world& in);

    void enter(std::size_t, const std::string&, const connection_name&,
               const std::string&) override {
        entered_ = true;
    }
    void leave(std::size_t, const std::string&, const connection_name&,
               const std::string&) override {}
    void read(std::size_t, const std::string& room, const position& after,
              std::uint64_t ticket) override;
    connection_name new_connection() override { return {fmt::format("c-{}", ++connections_)}; }

    void hear(std::string_view payload);
    void step();
    [[nodiscard]] viewers& loop() { return *loop_; }

private:
    struct pending_read {
        position after;
        std::uint64_t ticket;
    };
    void follow(track_step step);
    [[nodiscard]] std::optional<read_answer> ask(const read_order& order);

    world& in_;
    std::uint64_t connections_ = 0;
    bool entered_ = false;
    bool started_ = false;
    room_track track_;
    std::optional<read_order> reading_;
    std::deque<pending_read> reads_;
    time_point next_check_{};
    std::unique_ptr<viewers> loop_;
};

/// Somebody who watches, on one connection after the other.
struct sim_client {
    std::unique_ptr<test_viewer> connection = {};
    std::size_t comet = 0;
    std::size_t taken = 0;  // frames of this connection
    std::string epoch = {};
    std::uint64_t last = 0;
    std::uint64_t seen = 0;
    std::string fault = {};
};

struct published {
    time_point due;
    std::size_t comet;
    std::string payload;
};

class world {
public:
    world(std::uint64_t seed, seeded_bug with) : bug(with), chance_(seed) {
        values.cooldown = 100ms;
        values.lock_life = 400ms;
        values.tail_check = 300ms;
        engine = make_memory_engine({.time = &time, .chance = &entropy_});
        heard_ =
            engine
                ->subscribe(
                    room_keys(values, the_room).channel(), channel_scope::global,
                    [this](const push_event& event) { publish(event.payload); }, time.now() + 1s)
                .value();
        (void)ask(owned_call({"XGROUP", "CREATE", "push:queue", "job", "0", "MKSTREAM"}));
        for (std::size_t i = 0; i < comet_count; ++i) comets_.push_back(make_comet());
        for (std::size_t i = 0; i < 3; ++i) consumers_.push_back(make_consumer(i));
        clients_.resize(client_count);
        for (sim_client& one : clients_) connect(one);
    }

    std::string run();

    [[nodiscard]] bool chance(unsigned in_a_thousand) {
        return faults && chance_() % 1000 < in_a_thousand;
    }
    [[nodiscard]] std::uint64_t draw(std::uint64_t below) { return chance_() % below; }
    [[nodiscard]] reply ask(const owned_call& call) {
        command c = call.view();
        result<reply> answered;
        engine->exchange({&c, 1}, {&answered, 1}, time.now() + 1s);
        return answered.value();
    }
    [[nodiscard]] reply ask_changed(const owned_call& call, const script& body) {
        const command given = call.view();
        std::vector<std::string_view> args(given.args.begin(), given.args.end());
        args[1] = body.sha1();
        const command c{args, repeat::never, &body};
        result<reply> answered;
        engine->exchange({&c, 1}, {&answered, 1}, time.now() + 1s);
        return answered.value();
    }
    void broadcast_done(const broadcast_answer& answer);

    const seeded_bug bug;
    bool faults = true;
    settings values;
    virtual_clock time;
    std::shared_ptr<memory_engine> engine;

private:
    void publish(std::string_view payload);
    void deliver_due();
    void send();
    void step_consumer();
    void connect(sim_client& one);
    void drain(sim_client& one);
    void crash_comet();
    [[nodiscard]] std::unique_ptr<sim_comet> make_comet() {
        return std::make_unique<sim_comet>(*this);
    }
    [[nodiscard]] std::unique_ptr<sim_consumer> make_consumer(std::size_t i) {
        return std::make_unique<sim_consumer>(*this, i, fmt::format("n{}", ++consumers_made_));
    }
    [[nodiscard]] std::string verdict() const;

    std::mt19937_64 chance_;  // style: allow chance, because a seed must do the same again
    seeded_entropy entropy_{1};
    std::vector<std::unique_ptr<sim_comet>> comets_;
    std::vector<std::unique_ptr<sim_consumer>> consumers_;
    std::vector<sim_client> clients_;
    std::deque<published> network_;
    std::unique_ptr<subscription> heard_;
    std::uint64_t consumers_made_ = 0;
    std::uint64_t sent_ = 0;
    std::uint64_t admitted_ = 0;
    std::optional<time_point> last_broadcast_;
    std::string fault_;
};

sim_consumer::sim_consumer(world& in, std::size_t number, std::string name)
    : in_(in), name_(std::move(name)), plan_(number, in.values, log_sink(), counts_) {}

void sim_consumer::step() {
    switch (next_) {
        case stage::idle:
            acknowledge(plan_.take_acknowledged());
            if (in_.bug != seeded_bug::no_claim && in_.draw(8) == 0) claim();
            if (!plan_.due(in_.time.now()).empty()) {
                next_ = stage::look;
            } else {
                read();
            }
            break;
        case stage::look: return look();
        case stage::acquire: return acquire();
        case stage::broadcast: return broadcast();
        case stage::release: return release();
    }
}

void sim_consumer::read() {
    const reply got = in_.ask(owned_call(
        {"XREADGROUP", "GROUP", "job", name_, "COUNT", "2", "STREAMS", "push:queue", ">"}));
    for (const reply& stream : got.elements()) take(stream.elements().at(1));
}

void sim_consumer::claim() {
    const reply got = in_.ask(owned_call({"XAUTOCLAIM", "push:queue", "job", name_, "400", "0-0"}));
    if (got.elements().size() >= 2) take(got.elements()[1]);
}

void sim_consumer::take(const reply& list) {
    std::vector<std::string> ids;
    for (queue_entry& entry : read_entries(list)) {
        ids.push_back(entry.id);
        plan_.take(std::move(entry), in_.time.now());
    }
    if (in_.bug == seeded_bug::acknowledge_early) acknowledge(ids);
}

void sim_consumer::acknowledge(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) {
        (void)in_.ask(owned_call({"XACK", "push:queue", "job", id}));
        (void)in_.ask(owned_call({"XDEL", "push:queue", id}));
    }
}

void sim_consumer::look() {
    const reply got = in_.ask(look_call(in_.values, the_room));
    next_ = stage::idle;
    const time_point now = in_.time.now();
    if (in_.chance(30)) return plan_.failed(the_room, "the answer was lost", now);
    if (plan_.looked(the_room, read_look(got).value(), now) == consumer_plan::verdict::acquire) {
        next_ = stage::acquire;
    }
}

void sim_consumer::acquire() {
    const reply got = in_.ask(owned_call({"SET", "lock:broadcast:r", name_, "NX", "PX", "400"}));
    next_ = stage::idle;
    if (got.is_nil()) return plan_.lock_busy(the_room, in_.time.now());
    fence_ = static_cast<std::uint64_t>(in_.ask(owned_call({"INCR", "fence"})).number());
    plan_.lock_acquired(the_room);
    next_ = stage::broadcast;
}

void sim_consumer::broadcast() {
    static const script blind =
        changed(push_scripts::all().broadcast, "if left ~= -2 then", "if left == -3 then");
    const owned_call call = broadcast_call(in_.values, the_room, plan_.order(the_room), fence_);
    const reply got =
        in_.bug == seeded_bug::no_second_look ? in_.ask_changed(call, blind) : in_.ask(call);
    const broadcast_answer answer = read_broadcast(got).value();
    in_.broadcast_done(answer);
    next_ = stage::release;
    if (in_.chance(50)) return plan_.failed(the_room, "the answer was lost", in_.time.now());
    if (plan_.broadcast(the_room, answer, in_.time.now()) == consumer_plan::next_step::again) {
        next_ = stage::broadcast;
    }
}

void sim_consumer::release() {
    if (in_.ask(owned_call({"GET", "lock:broadcast:r"})).text() == name_) {
        (void)in_.ask(owned_call({"DEL", "lock:broadcast:r"}));
    }
    plan_.lock_released(the_room);
    next_ = stage::idle;
}

sim_comet::sim_comet(world& in)
    : in_(in),

      track_(the_room, 1000),
      loop_(std::make_unique<viewers>(*this, 0, in.values)) {}

void sim_comet::read(std::size_t, const std::string&, const position& after, std::uint64_t ticket) {
    reads_.push_back({after, ticket});
}

std::optional<read_answer> sim_comet::ask(const read_order& order) {
    if (in_.chance(100)) return {};
    return read_room(in_.ask(read_call(in_.values, the_room, order)));
}

void sim_comet::hear(std::string_view payload) {
    if (!started_) return;
    const shared_frame f = parse_published(the_room, payload).value();
    const bool hole = track_.ready() && !reading_ && f->first() > track_.at().offset + 1;
    if (hole && in_.bug == seeded_bug::hole_ignored) return loop_->hear(room_frame{f});
    follow(track_.hear(f));
}

void sim_comet::follow(track_step step) {
    if (step.ready) loop_->hear(room_ready{the_room, *step.ready});
    for (const shared_frame& f : step.deliver) loop_->hear(room_frame{f});
    if (step.read) reading_ = std::move(step.read);
    if (step.retry) next_check_ = in_.time.now() + 50ms;
}

void sim_comet::step() {
    const time_point now = in_.time.now();
    if (entered_ && !started_) {
        started_ = true;
        next_check_ = now + in_.values.tail_check;
        follow(track_.start());
    } else if (entered_ && track_.ready()) {
        entered_ = false;
        loop_->hear(room_ready{the_room, track_.at()});
    }
    if (reading_ && in_.draw(3) == 0) {
        read_order order = *std::exchange(reading_, {});
        order.fresh_epoch = "lost";
        auto answer = ask(order);
        follow(answer ? track_.read(std::move(*answer)) : track_.read_failed());
    } else if (started_ && !reading_ && now >= next_check_) {
        next_check_ = now + in_.values.tail_check;
        if (in_.bug != seeded_bug::no_tail_check) follow(track_.doubt());
    }
    if (reads_.empty() || in_.draw(3) != 0) return;
    const pending_read one = reads_.front();
    auto answer = ask({.epoch = one.after.epoch,
                       .after = one.after.offset,
                       .most = 4,
                       .seen = false,
                       .fresh_epoch = {}});
    if (!answer) return;
    reads_.pop_front();
    loop_->hear(to_history(the_room, one.after, one.ticket, std::move(*answer)));
}

void world::publish(std::string_view payload) {
    for (std::size_t i = 0; i < comet_count; ++i) {
        if (chance(150)) continue;
        const unsigned copies = chance(100) ? 2 : 1;
        for (unsigned n = 0; n < copies; ++n) {
            const duration late = std::chrono::milliseconds(chance(200) ? draw(400) : draw(3));
            network_.push_back({time.now() + late, i, std::string(payload)});
        }
    }
}

void world::deliver_due() {
    for (std::size_t i = 0; i < network_.size();) {
        if (network_[i].due > time.now()) {
            ++i;
            continue;
        }
        const published one = std::move(network_[i]);
        network_.erase(network_.begin() + static_cast<std::ptrdiff_t>(i));
        comets_[one.comet]->hear(one.payload);
    }
}

void world::broadcast_done(const broadcast_answer& answer) {
    if (answer.what != broadcast_answer::kind::sent) return;
    if (last_broadcast_ && time.now() - *last_broadcast_ < values.cooldown && fault_.empty()) {
        fault_ = "two broadcasts in one window";
    }
    last_broadcast_ = time.now();
}

void world::send() {
    post p = one_message(the_room, fmt::format("m{}", ++sent_));
    const std::vector<std::string> ids{id_of(p, p.messages[0])};
    const owned_call call =
        admit_call(values, p, ids, fmt::format("e{}", sent_), fmt::format("t{}", sent_));
    const unsigned times = chance(100) ? 2 : 1;  // the answer was lost: the same call again
    for (unsigned i = 0; i < times; ++i) {
        const reply got = ask(call);
        if (got.elements().at(3).number() != 0) fault_ = "a repetition was called a duplicate";
        admitted_ = static_cast<std::uint64_t>(got.elements().at(2).number());
    }
}

void world::step_consumer() {
    const std::size_t i = draw(consumers_.size());
    if (!consumers_[i]->may_step(time.now())) return;
    if (chance(15)) {
        consumers_[i] = make_consumer(i);  // the old one is gone, its lock and its entries stay
        return;
    }
    if (chance(10)) return consumers_[i]->pause(time.now() + std::chrono::milliseconds(draw(900)));
    consumers_[i]->step();
}

void world::connect(sim_client& one) {
    one.comet = draw(comet_count);
    one.taken = 0;
    one.connection = std::make_unique<test_viewer>();
    viewers& loop = comets_[one.comet]->loop();
    one.connection->attach(loop.open(*one.connection, "u"));
    std::optional<position> resume;
    if (!one.epoch.empty() || one.last == 0) resume = position{one.epoch, one.last};
    if (bug == seeded_bug::resume_from_nowhere) resume.reset();
    (void)loop.join(one.connection->number(), the_room, resume);
}

void world::drain(sim_client& one) {
    one.connection->drain(comets_[one.comet]->loop());
    const std::vector<seen_frame>& frames = one.connection->frames();
    for (; one.taken < frames.size(); ++one.taken) {
        const seen_frame& f = frames[one.taken];
        if (!one.fault.empty()) continue;
        if (f.first != one.last + 1) {
            one.fault = fmt::format("frame {} to {} behind {}", f.first, f.last, one.last);
        } else if (f.shed != 0) {
            one.fault = fmt::format("{} messages are missing", f.shed);
        }
        one.epoch = f.epoch;
        one.last = f.last;
        one.seen += f.count;
    }
}

void world::crash_comet() {
    const std::size_t i = draw(comet_count);
    std::erase_if(network_, [&](const published& one) { return one.comet == i; });
    for (sim_client& one : clients_) {
        if (one.comet == i) drain(one);
    }
    comets_[i] = make_comet();
    for (sim_client& one : clients_) {
        if (one.comet == i) connect(one);
    }
}

std::string world::run() {
    for (unsigned turn = 0; turn < 1200; ++turn) {
        if (turn > 700) faults = false;
        if (sent_ < messages_sent && draw(20) == 0) send();
        step_consumer();
        for (const auto& one : comets_) one->step();
        deliver_due();
        if (chance(6)) crash_comet();
        for (sim_client& one : clients_) drain(one);
        time.advance(std::chrono::microseconds(draw(faults ? 4000 : 12000)));
    }
    return verdict();
}

std::string world::verdict() const {
    if (!fault_.empty()) return fault_;
    for (const sim_client& one : clients_) {
        if (!one.fault.empty()) return one.fault;
        if (one.last != admitted_ || one.seen != admitted_) {
            return fmt::format("{} of {} messages came, up to {}", one.seen, admitted_, one.last);
        }
    }
    return {};
}

}  // namespace

std::string simulate_room(std::uint64_t seed, seeded_bug bug) {
    return world(seed, bug).run();
}

}  // namespace holdfast::push::test
