// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/replicated_lanes.hpp"

#include "core/hash_slot.hpp"
#include "core/validity.hpp"
#include "lease/commands/replica_confirmation.hpp"
#include "lease/commands/server_inquiry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace holdfast {
namespace {

// How often the owners of slots are read anew. A lane that is wrong answers an error, never a
// grant.
constexpr duration slots_age = std::chrono::seconds(10);
constexpr duration slots_patience = std::chrono::milliseconds(500);

bool is_elsewhere(const reply& answer) {
    const auto starts = [&](std::string_view word) { return answer.text().starts_with(word); };
    return answer.is_error() && (starts("MOVED") || starts("ASK") || starts("READONLY"));
}

}  // namespace

/// One connection to one master, and the thread that drives it.
class replicated_lanes::lane {
public:
    explicit lane(replicated_lanes& all) : all_(all), engine_(all.engine_), options_(all.options_) {
        thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
    }
    ~lane() {
        thread_.request_stop();
        thread_.join();
        for (job& left : queue_) {
            left.done(fail(errc::cancelled, "queue: the client was closed"));
        }
    }

    void push(job one) {
        {
            const std::scoped_lock guard(mutex_);
            queue_.push_back(std::move(one));
        }
        ready_.notify_one();
    }

private:
    void serve(const std::stop_token& stop) {
        for (;;) {
            std::deque<job> batch;
            {
                std::unique_lock held(mutex_);
                ready_.wait(held, stop, [&] { return !queue_.empty(); });
                if (stop.stop_requested()) return;
                const auto count = std::min(queue_.size(), most_together);
                const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(count);
                std::move(queue_.begin(), end, std::back_inserter(batch));
                queue_.erase(queue_.begin(), end);
            }
            carry(batch);
            all_.read_slots_again();
        }
    }

    void carry(std::deque<job>& batch) {
        const time_point now = engine_->time().now();
        std::erase_if(batch, [&](job& late) {
            if (now < late.give_up) return false;
            late.done(fail(errc::timed_out, "queue: not sent in time"));
            return true;
        });
        if (batch.empty()) return;
        const time_point give_up = std::ranges::max(batch, {}, &job::give_up).give_up;
        const bool kept = session_ != nullptr;
        std::vector<result<lease_reply>> answers;
        if (kept) answers = exchange(batch, give_up);
        // A connection that was kept may lead to a master that was replaced, or be closed by now.
        if (!kept || untouched_) {
            session_.reset();
            if (const auto opened = open(batch[0], give_up); !opened) {
                for (job& one : batch) one.done(std::unexpected(opened.error()));
                return;
            }
            answers = exchange(batch, give_up);
        }
        confirm(batch, answers, give_up);
        if (elsewhere_) session_.reset();
        for (std::size_t i = 0; i < batch.size(); ++i) batch[i].done(std::move(answers[i]));
    }

    result<void> open(const job& first, time_point give_up) {
        detail::text_arena room;
        auto opened =
            engine_->open_session(lock_key(room, options_.prefix, name_of(first.request)), give_up);
        if (!opened) return std::unexpected(std::move(opened.error()));
        session_ = std::move(*opened);
        return {};
    }

    std::vector<result<lease_reply>> exchange(const std::deque<job>& batch, time_point give_up) {
        std::vector<lease_commands> ready(batch.size());
        std::vector<result<lease_reply>> answers(batch.size());
        std::vector<std::size_t> which(batch.size());
        std::iota(which.begin(), which.end(), 0);
        elsewhere_ = false;
        ask(batch, which, ready, answers, give_up);
        // A quarantine that must be over; see known_servers.hpp.
        std::erase_if(which, [&](std::size_t i) {
            return session_ == nullptr || !is_over(*engine_, options_, name_of(batch[i].request),
                                                   ready[i].quarantined(), all_.servers_, give_up);
        });
        for (const std::size_t i : which) ready[i].vouch();
        if (!which.empty()) {
            ask(batch, which, ready, answers, give_up);
            untouched_ = false;  // the others were answered before
        }
        if (elsewhere_) all_.distrust_slots();
        return answers;
    }

    void ask(const std::deque<job>& batch, const std::vector<std::size_t>& which,
             std::vector<lease_commands>& ready, std::vector<result<lease_reply>>& answers,
             time_point give_up) {
        std::vector<command> commands;
        for (const std::size_t i : which) {
            ready[i].make(options_, batch[i].request, batch[i].channel, lease_way::full,
                          lease_form::one);
            commands.push_back(ready[i].commands()[0]);
        }
        std::vector<result<reply>> replies(commands.size());
        const time_point sent = engine_->time().now();
        session_->exchange(commands, replies, give_up);
        bool broken = false;
        untouched_ = std::ranges::all_of(replies, [](const result<reply>& one) {
            return one ? is_elsewhere(*one) : one.error() == errc::unavailable;
        });
        for (std::size_t n = 0; n < which.size(); ++n) {
            broken = broken || !replies[n];
            if (replies[n] && is_elsewhere(*replies[n])) elsewhere_ = true;
            answers[which[n]] = *ready[which[n]].interpret({&replies[n], 1});
            note_clock(options_, ready[which[n]], batch[which[n]].request, sent, engine_->time(),
                       answers[which[n]]);
        }
        if (broken) session_.reset();
    }

    // A trip of its own, because a script that had to be loaded is sent twice: WAIT must come last.
    void confirm(const std::deque<job>& batch, std::vector<result<lease_reply>>& answers,
                 time_point give_up) {
        const auto counts = [](const result<lease_reply>& one) {
            return one && must_be_confirmed(*one);
        };
        if (std::ranges::none_of(answers, counts)) return;
        const auto patience = std::chrono::ceil<std::chrono::milliseconds>(options_.replica_wait);
        std::int64_t heard = 0;
        std::string why;
        if (session_ == nullptr) {
            why = "the connection was lost before the replicas were asked";
        } else {
            const auto seen =
                session_->execute(words("WAIT", options_.replicas, patience.count()), give_up);
            if (!seen) session_.reset();
            heard = seen ? seen->number() : 0;
            why = seen ? fmt::format(
                             "{} of {} replicas confirmed within {} ms (replicas= in the URL "
                             "says how many must)",
                             heard, options_.replicas, patience.count())
                       : seen.error().detail;
        }
        if (heard >= static_cast<std::int64_t>(options_.replicas)) return;
        for (std::size_t i = 0; i < answers.size(); ++i) {
            if (!counts(answers[i])) continue;
            answers[i] = unconfirmed(name_of(batch[i].request), why);
        }
    }

    static constexpr std::size_t most_together = 1000;

    replicated_lanes& all_;
    const std::shared_ptr<command_engine> engine_;
    const command_lease_options& options_;
    std::unique_ptr<command_session> session_;
    bool elsewhere_ = false;  // this batch met a name that another master has by now
    bool untouched_ = false;  // … or nothing of it was carried out at all
    std::mutex mutex_;
    std::condition_variable_any ready_;
    std::deque<job> queue_;
    std::jthread thread_;
};

replicated_lanes::replicated_lanes(std::shared_ptr<command_engine> engine,
                                   const command_lease_options& options, known_servers& servers)
    : engine_(std::move(engine)), options_(options), servers_(servers) {}

replicated_lanes::~replicated_lanes() = default;

void replicated_lanes::submit(lease_request request, std::string_view channel, time_point give_up,
                              completion done) {
    detail::text_arena room;
    lane_for(lock_key(room, options_.prefix, name_of(request)), give_up)
        .push({std::move(request), std::string(channel), give_up, std::move(done)});
}

replicated_lanes::lane& replicated_lanes::lane_for(std::string_view lock, time_point give_up) {
    std::string master;
    if (options_.scope == key_scope::slot) master = master_of(hash_slot(lock), give_up);
    const std::scoped_lock guard(mutex_);
    auto& here = lanes_[master];
    if (here == nullptr) here = std::make_unique<lane>(*this);
    return *here;
}

void replicated_lanes::distrust_slots() {
    const std::scoped_lock guard(mutex_);
    slots_read_ = time_point::min();
}

// By a lane that has just been answered, so that nobody waits for it. Short, in case the node that
// is asked hangs.
void replicated_lanes::read_slots_again() {
    const time_point now = engine_->time().now();
    {
        const std::scoped_lock guard(mutex_);
        if (options_.scope == key_scope::server || now < later(slots_read_, slots_age)) return;
        slots_read_ = now;
    }
    auto read = read_shards(*engine_, later(now, slots_patience));
    const std::scoped_lock guard(mutex_);
    if (read) slots_ = std::move(*read);
}

// The id of the node that serves the slot, as far as is known: one that is out of date answers an
// error, and is asked for anew. Waits only before the first reading.
std::string replicated_lanes::master_of(unsigned slot, time_point give_up) {
    std::unique_lock held(mutex_);
    if (slots_.empty()) {
        held.unlock();
        auto read = read_shards(*engine_, give_up);
        held.lock();
        if (read) {
            slots_ = std::move(*read);
            slots_read_ = engine_->time().now();
        }
    }
    for (const slot_range& one : slots_) {
        if (one.first <= slot && slot <= one.last) return one.master;
    }
    return {};
}

}  // namespace holdfast
