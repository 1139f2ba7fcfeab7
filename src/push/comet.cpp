// SPDX-License-Identifier: Apache-2.0
#include <holdfast/push/comet.hpp>

#include "command/script_call.hpp"
#include "core/require.hpp"
#include "core/validity.hpp"
#include "push/comet_inbox.hpp"
#include "push/frame_text.hpp"
#include "push/presence_keeper.hpp"
#include "push/room_commands.hpp"
#include "push/room_keys.hpp"
#include "push/room_track.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <utility>

// One thread has the rooms. The engine's threads only leave notes in its inbox; what it sends is
// submitted, so one room that waits for the engine holds up no other. Only a subscription waits for
// its confirmation here.

namespace holdfast::push {
namespace {

using namespace std::chrono_literals;

constexpr duration retry_pause = 100ms;
constexpr unsigned most_tries = 20;

}  // namespace

class comet::impl {
public:
    impl(client& hf, settings s, std::vector<loop_port*> loops, log_sink log, counters* counts)
        : hf_(hf),
          engine_(*hf.commands()),
          time_(engine_.time()),
          settings_(std::move(s)),
          loops_(std::move(loops)),
          log_(std::move(log)),
          counts_(counts == nullptr ? own_counts_ : *counts),
          id_(detail::draw_token(hf.chance()).substr(0, 12)),
          inbox_(std::make_shared<comet_inbox>()),
          presence_(engine_, settings_, id_, [inbox = inbox_](const auto& changes) {
              for (const presence_keeper::change& one : changes) {
                  if (one.entered) {
                      inbox->put(entered_room{one.loop, one.room});
                  } else {
                      inbox->put(left_room{one.loop, one.room});
                  }
              }
          }) {}

    result<void> start() {
        if (auto fit = check(settings_); !fit) return fit;
        presence_.start();
        thread_ = std::thread([this] { run(); });
        return {};
    }

    void stop() {
        inbox_->close();
        if (thread_.joinable()) thread_.join();
        rooms_.clear();
        presence_.stop();
    }

    void enter(std::size_t loop, const std::string& room, const connection_name& who,
               const std::string& user) {
        presence_.put({true, loop, room, who.value, user});
    }
    void leave(std::size_t loop, const std::string& room, const connection_name& who,
               const std::string& user) {
        presence_.put({false, loop, room, who.value, user});
    }
    void read(std::size_t loop, const std::string& room, const position& after,
              std::uint64_t ticket) {
        inbox_->put(asked_history{loop, room, after, ticket});
    }
    [[nodiscard]] const std::string& id() const noexcept { return id_; }
    [[nodiscard]] connection_name new_connection() {
        return {fmt::format("{}-{}", id_, ++last_connection_)};
    }

private:
    struct room_state {
        room_state(const std::string& name, std::size_t most, std::uint64_t number)
            : track(name, most), life(number) {}
        room_track track;
        std::uint64_t life;
        std::unique_ptr<subscription> heard = {};
        std::map<std::size_t, std::size_t> viewers = {};  // in each loop
        time_point due = {};                              // to subscribe, to retry, to look
        std::uint64_t gaps = 0;
        std::uint64_t repaired = 0;
    };
    using room_map = std::map<std::string, room_state>;

    void run();
    [[nodiscard]] time_point next_due() const;
    void look_after_rooms();
    void subscribe(const std::string& name, room_state& room);
    void follow(const std::string& name, room_state& room, track_step step);
    void submit_read(const std::string& name, const room_state& room, read_order order);
    void submit_history(asked_history what);

    void on(const entered_room& task);
    void on(const left_room& task);
    void on(asked_history& task) { submit_history(std::move(task)); }
    void on(answered_history& task);
    void on(const heard_message& task);
    void on(const heard_gap& task);
    void on(answered_read& task);

    client& hf_;
    command_engine& engine_;
    clock& time_;
    const settings settings_;
    const std::vector<loop_port*> loops_;
    const log_sink log_;
    counters own_counts_;
    counters& counts_;
    const std::string id_;
    std::atomic<std::uint64_t> last_connection_ = 0;
    std::uint64_t last_life_ = 0;
    const std::shared_ptr<comet_inbox> inbox_;
    room_map rooms_;
    std::vector<std::pair<time_point, asked_history>> later_reads_;
    presence_keeper presence_;
    std::thread thread_;
};

void comet::impl::run() {
    std::vector<comet_task> tasks;
    while (inbox_->take(time_, next_due(), tasks)) {
        for (comet_task& task : tasks) {
            std::visit([this](auto& what) { on(what); }, task);
        }
        look_after_rooms();
    }
}

time_point comet::impl::next_due() const {
    time_point first = time_.now() + 1s;
    for (const auto& [name, room] : rooms_) first = std::min(first, room.due);
    for (const auto& [when, what] : later_reads_) first = std::min(first, when);
    return first;
}

void comet::impl::look_after_rooms() {
    const time_point now = time_.now();
    for (auto& [name, room] : rooms_) {
        if (room.due > now) continue;
        room.due = now + settings_.tail_check;
        if (room.heard == nullptr) {
            subscribe(name, room);
        } else {
            follow(name, room, room.track.doubt());
        }
    }
    auto reads = std::exchange(later_reads_, {});
    for (auto& [when, what] : reads) {
        if (when <= now) {
            submit_history(std::move(what));
        } else {
            later_reads_.emplace_back(when, std::move(what));
        }
    }
}

void comet::impl::subscribe(const std::string& name, room_state& room) {
    auto made = engine_.subscribe(
        room_keys(settings_, name).channel(),
        settings_.tagged ? channel_scope::sharded : channel_scope::global,
        [inbox = inbox_, name](const push_event& event) {
            if (event.type == push_event::kind::gap) {
                inbox->put(heard_gap{name});
            } else {
                inbox->put(heard_message{name, std::string(event.payload)});
            }
        },
        later(time_.now(), std::min<duration>(settings_.timeout, 1s)));
    if (!made) {
        if (log_) {
            log_(log_level::warning, fmt::format("[Comet {}] room {} cannot be heard yet: {}", id_,
                                                 name, made.error().detail));
        }
        room.due = time_.now() + retry_pause;
        return;
    }
    room.heard = std::move(*made);
    follow(name, room, room.track.start());
}

// Does what the track says.
void comet::impl::follow(const std::string& name, room_state& room, track_step step) {
    counts_.gaps += room.track.gaps() - std::exchange(room.gaps, room.track.gaps());
    counts_.repaired += room.track.repaired() - std::exchange(room.repaired, room.track.repaired());
    if (step.ready) {
        for (const auto& [loop, count] : room.viewers) {
            loops_[loop]->post(room_ready{name, *step.ready});
        }
    }
    for (const shared_frame& f : step.deliver) {
        for (const auto& [loop, count] : room.viewers) loops_[loop]->post(room_frame{f});
    }
    if (step.read) submit_read(name, room, std::move(*step.read));
    if (step.retry) room.due = std::min(room.due, time_.now() + retry_pause);
}

void comet::impl::submit_read(const std::string& name, const room_state& room, read_order order) {
    order.fresh_epoch = detail::draw_token(hf_.chance());
    const owned_call call = read_call(settings_, name, order);
    engine_.submit(call.view(), later(time_.now(), settings_.timeout),
                   [inbox = inbox_, name, life = room.life](result<reply> answer) {
                       inbox->put(answered_read{name, life, std::move(answer)});
                   });
}

void comet::impl::submit_history(asked_history what) {
    const owned_call call = read_call(settings_, what.room,
                                      {.epoch = what.after.epoch,
                                       .after = what.after.offset,
                                       .most = settings_.history_length,
                                       .seen = false,
                                       .fresh_epoch = {}});
    engine_.submit(call.view(), later(time_.now(), settings_.timeout),
                   [inbox = inbox_, what](result<reply> answer) {
                       inbox->put(answered_history{what, std::move(answer)});
                   });
}

void comet::impl::on(const entered_room& task) {
    const auto [at, fresh] =
        rooms_.try_emplace(task.room, task.room, settings_.history_length, last_life_ + 1);
    room_state& room = at->second;
    if (fresh) {
        ++last_life_;
        ++counts_.rooms;
        room.due = time_.now();
    }
    ++room.viewers[task.loop];
    if (room.track.ready()) {
        loops_[task.loop]->post(room_ready{task.room, room.track.at()});
    }
}

void comet::impl::on(const left_room& task) {
    const auto at = rooms_.find(task.room);
    if (at == rooms_.end()) return;
    std::map<std::size_t, std::size_t>& viewers = at->second.viewers;
    const auto here = viewers.find(task.loop);
    if (here == viewers.end()) return;
    if (--here->second == 0) viewers.erase(here);
    if (!viewers.empty()) return;
    rooms_.erase(at);
    --counts_.rooms;
}

void comet::impl::on(answered_history& task) {
    if (task.answer && task.answer->is_error()) {
        task.answer = std::unexpected(to_error(*task.answer));
    }
    auto read = task.answer ? read_room(*task.answer) : std::nullopt;
    asked_history& what = task.what;
    if (!read) {
        if (++what.tries < most_tries) {
            later_reads_.emplace_back(time_.now() + retry_pause, std::move(what));
            return;
        }
        room_history failed{.room = what.room, .ticket = what.ticket};
        failed.failure =
            task.answer ? error{errc::corrupt, "the room cannot be read"} : task.answer.error();
        loops_[what.loop]->post(std::move(failed));
        return;
    }
    loops_[what.loop]->post(to_history(what.room, what.after, what.ticket, std::move(*read)));
}

void comet::impl::on(const heard_message& task) {
    const auto at = rooms_.find(task.room);
    if (at == rooms_.end()) return;
    const auto frame = parse_published(task.room, task.payload);
    if (!frame) return;
    ++counts_.frames_in;
    follow(task.room, at->second, at->second.track.hear(*frame));
}

void comet::impl::on(const heard_gap& task) {
    const auto at = rooms_.find(task.room);
    if (at != rooms_.end()) follow(task.room, at->second, at->second.track.doubt());
}

void comet::impl::on(answered_read& task) {
    const auto at = rooms_.find(task.room);
    if (at == rooms_.end() || at->second.life != task.life) return;
    room_track& track = at->second.track;
    auto read = task.answer && !task.answer->is_error() ? read_room(*task.answer) : std::nullopt;
    follow(task.room, at->second, read ? track.read(std::move(*read)) : track.read_failed());
}

comet::comet(client& hf, settings s, std::vector<loop_port*> loops, log_sink log, counters* counts)
    : impl_([&] {
          detail::require(hf.commands() != nullptr, "live push needs an engine of Redis commands");
          return std::make_unique<impl>(hf, std::move(s), std::move(loops), std::move(log), counts);
      }()) {}
comet::~comet() {
    impl_->stop();
}
result<void> comet::start() {
    return impl_->start();
}
void comet::stop() {
    impl_->stop();
}
const std::string& comet::id() const noexcept {
    return impl_->id();
}
void comet::enter(std::size_t loop, const std::string& room, const connection_name& who,
                  const std::string& user) {
    impl_->enter(loop, room, who, user);
}
void comet::leave(std::size_t loop, const std::string& room, const connection_name& who,
                  const std::string& user) {
    impl_->leave(loop, room, who, user);
}
void comet::read(std::size_t loop, const std::string& room, const position& after,
                 std::uint64_t ticket) {
    impl_->read(loop, room, after, ticket);
}
connection_name comet::new_connection() {
    return impl_->new_connection();
}

}  // namespace holdfast::push
