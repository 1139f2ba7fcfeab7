// SPDX-License-Identifier: Apache-2.0
//
// What may be sent again, and when. The link tries once and says truly how far it came; here is the
// policy on top:
//
// - never written, because the connection broke: sent again on a new one;
// - written and not answered: again only if the caller said it is idempotent, as soon as there is a
//   connection, and until the deadline. If that never comes to an answer, the outcome stays
//   unknown;
// - submitted together with others: again only if the first was never written;
// - NOSCRIPT: nothing was done; the script is loaded and the command sent again, at once.
//
// A connect that fails is an answer: nothing was sent, and the caller learns why without delay.
#include "driver/redis/server_link.hpp"

#include "driver/redis/earlier_try.hpp"
#include "driver/redis/encode.hpp"
#include "runtime/fork_watch.hpp"

#include <array>

namespace holdfast::redis {
namespace {

bool says_noscript(const result<reply>& answer) {
    return answer && answer->is_error() && answer->text().starts_with("NOSCRIPT");
}

// What Redis calls the channel of the changes that it tracks.
constexpr std::string_view changes_channel = "__redis__:invalidate";

/// A subscriber of its own, which ends with it.
class key_watch final : public subscription {
public:
    key_watch(std::shared_ptr<subscriber> by, std::unique_ptr<subscription> heard)
        : by_(std::move(by)), heard_(std::move(heard)) {}
    key_watch(const key_watch&) = delete;
    key_watch& operator=(const key_watch&) = delete;
    ~key_watch() override {
        if (generation_ == detail::fork_generation()) {
            heard_.reset();
            by_->stop();
            return;
        }
        // A child of fork(): the thread does not exist there, so nothing may wait for it.
        static_cast<void>(heard_.release());
        // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): no memory for that ends the child
        new std::shared_ptr<subscriber>(std::move(by_));
    }

private:
    std::shared_ptr<subscriber> by_;
    std::unique_ptr<subscription> heard_;
    unsigned generation_ = detail::fork_generation();
};

bool may_repeat(const command& c, const result<reply>& answer, bool lost) {
    if (answer) return false;
    if (answer.error().code == errc::outcome_unknown) return c.again == repeat::idempotent;
    return lost && answer.error().code == errc::unavailable;
}

}  // namespace

server_link::server_link(profile p, server_locator where, clock& time, entropy& chance)
    : profile_(std::move(p)),
      where_(std::move(where)),
      time_(time),
      chance_(chance),
      counts_(std::make_shared<counters>()) {
    for (std::size_t i = 0; i < profile_.options.connections; ++i) {
        links_.push_back(std::make_unique<link>(profile_, where_, time, chance, *counts_));
    }
    sessions_ = std::make_shared<session_pool>(profile_, where_, time, counts_);
    subscriber_ = std::make_shared<subscriber>(profile_, where_, time, chance, counts_);
    subscriber_->on_message([this] {
        for (const auto& one : links_) one->heard_push();
    });
}

server_link::~server_link() {
    for (const auto& one : watchers()) one->stop();
    subscriber_->stop();
}

link& server_link::pick() noexcept {
    if (links_.size() == 1) return *links_.front();
    return *links_[turn_.fetch_add(1, std::memory_order_relaxed) % links_.size()];
}

void server_link::run_once(std::span<const command> commands, std::span<result<reply>> replies,
                           time_point give_up, bool patient, bool& lost) {
    pending_request t;
    t.commands = commands;
    t.replies = replies;
    t.give_up = give_up;
    t.patient = patient;
    t.expected = commands.size();
    for (const command& c : commands) t.bytes += encoded_size(c.args);
    pick().run(t);
    lost = t.lost;
}

void server_link::exchange(std::span<const command> commands, std::span<result<reply>> replies,
                           time_point give_up) {
    if (commands.empty()) return;
    bool lost = false;
    run_once(commands, replies, give_up, false, lost);
    if (settle(commands, replies, give_up, lost)) return;
    repair_scripts(commands, replies, give_up);
}

void server_link::begin(flight& f) {
    f.way.commands = f.commands;
    f.way.replies = f.replies;
    f.way.give_up = f.give_up;
    f.way.expected = f.commands.size();
    for (const command& c : f.commands) f.way.bytes += encoded_size(c.args);
    f.on = &pick();
    f.on->begin(f.way);
}

void server_link::finish(flight& f) {
    f.on->await(f.way);
    if (settle(f.commands, f.replies, f.give_up, f.way.lost)) return;
    repair_scripts(f.commands, f.replies, f.give_up);
}

void server_link::repair_scripts(std::span<const command> commands,
                                 std::span<result<reply>> replies, time_point give_up) {
    for (std::size_t i = 0; i < commands.size(); ++i) {
        if (says_noscript(replies[i]) && commands[i].body != nullptr) {
            load_script(commands[i], replies[i], give_up);
        }
    }
}

// True: nothing is left to be done. The way of every call that meets no trouble, so it allocates
// nothing until there is some.
bool server_link::settle(std::span<const command> commands, std::span<result<reply>> replies,
                         time_point give_up, bool lost) {
    bool all_answered = true;
    bool scripts_known = true;
    for (const result<reply>& r : replies) {
        all_answered = all_answered && r.has_value();
        scripts_known = scripts_known && !says_noscript(r);
    }
    if (all_answered) return scripts_known;

    std::vector<bool> was_sent(commands.size());
    for (int tries = 0; time_.now() < give_up; ++tries) {
        std::vector<std::size_t> which;
        std::vector<command> again;
        bool patient = true;
        for (std::size_t i = 0; i < commands.size(); ++i) {
            const bool unanswered_once = was_sent[i] && !replies[i];
            if (!unanswered_once && !may_repeat(commands[i], replies[i], lost)) continue;
            if (replies[i].error().code == errc::denied) continue;
            if (replies[i].error().code == errc::outcome_unknown) was_sent[i] = true;
            if (!was_sent[i] && tries >= most_unsent_tries) continue;
            patient = patient && was_sent[i];
            which.push_back(i);
            again.push_back(commands[i]);
        }
        if (which.empty()) break;
        counts_->repeated.add(which.size());
        std::vector<result<reply>> answers(which.size());
        run_once(again, answers, give_up, patient, lost);
        for (std::size_t i = 0; i < which.size(); ++i) replies[which[i]] = std::move(answers[i]);
    }
    for (std::size_t i = 0; i < commands.size(); ++i) {
        if (was_sent[i]) keep_in_doubt(replies[i]);
    }
    return false;
}

void server_link::load_script(const command& c, result<reply>& answer, time_point give_up) {
    const std::array<std::string_view, 3> words{"SCRIPT", "LOAD", c.body->source()};
    const std::array<command, 2> both{command{words, repeat::idempotent}, c};
    std::array<result<reply>, 2> answers;
    bool lost = false;
    counts_->repeated.add();
    run_once(both, answers, give_up, false, lost);
    static_cast<void>(settle(both, answers, give_up, lost));
    const bool refused = answers[0] && answers[0]->is_error();
    answer = std::move(answers[refused ? 0 : 1]);
}

void server_link::submit(const command& c, time_point give_up, command_engine::completion done) {
    link& on = pick();
    auto t = on.blank();
    t->storage.reserve(encoded_size(c.args));
    append_command(t->storage, c.args);
    t->name_storage = c.args[0];
    if (c.body != nullptr) t->body = *c.body;
    t->again = c.again;
    t->done = std::move(done);
    send_off(on, std::move(t), give_up);
}

// All in one write on one connection, so that they keep their order.
void server_link::submit_together(std::span<const command> commands, time_point give_up,
                                  command_engine::joint_completion done) {
    link& on = pick();
    auto t = on.blank();
    for (const command& c : commands) {
        append_command(t->storage, c.args);
        t->ends[t->together++] = t->storage.size();
        if (!t->name_storage.empty()) t->name_storage += ", ";
        t->name_storage += c.args[0];
    }
    t->raw_ends = {t->ends, t->together};
    t->done_together = std::move(done);
    send_off(on, std::move(t), give_up);
}

void server_link::send_off(link& on, std::unique_ptr<async_ticket> t, time_point give_up) {
    t->raw = t->storage;
    t->raw_name = t->name_storage;
    t->bytes = t->storage.size();
    t->expected = t->replies_to_come();
    t->replies = {t->slots, t->expected};
    t->give_up = give_up;
    t->submitted = true;
    on.submit(std::move(t));
}

void server_link::retire_before(time_point moment, const server_address* spared) {
    for (const auto& one : links_) one->retire_before(moment, spared);
    sessions_->retire_before(moment, spared);
    subscriber_->renew(spared);
    for (const auto& one : watchers()) one->renew(spared);
}

// EVALSHA becomes EVAL: a script that is not known would be found out by EXEC only, when the rest
// of the transaction has been carried out.
result<reply> server_link::transaction(std::span<const command> commands, time_point give_up) {
    constexpr std::array<std::string_view, 1> multi{"MULTI"};
    constexpr std::array<std::string_view, 1> exec{"EXEC"};
    std::vector<std::vector<std::string_view>> rewritten;
    rewritten.reserve(commands.size());
    std::vector<command> all{command{multi}};
    bool idempotent = true;
    for (const command& c : commands) {
        idempotent = idempotent && c.again == repeat::idempotent;
        all.push_back(c);
        if (c.body == nullptr) continue;
        rewritten.emplace_back(c.args.begin(), c.args.end());
        rewritten.back()[0] = "EVAL";
        rewritten.back()[1] = c.body->source();
        all.back() = command{rewritten.back()};
    }
    all.push_back(command{exec});
    for (command& c : all) c.again = repeat::never;
    std::vector<result<reply>> answers(all.size());
    bool was_sent = false;
    for (int tries = 0;; ++tries) {
        bool lost = false;
        run_once(all, answers, give_up, was_sent, lost);
        const result<reply>& last = answers.back();
        if (last || time_.now() >= give_up) break;
        // Nothing is carried out before EXEC has arrived.
        const bool unsent =
            lost && last.error().code == errc::unavailable && tries < most_unsent_tries;
        const bool unknown = last.error().code == errc::outcome_unknown;
        was_sent = was_sent || unknown;
        const bool waits = was_sent && last.error().code == errc::unavailable;
        if (!unsent && !(idempotent && (unknown || waits))) break;
        counts_->repeated.add();
    }
    result<reply>& last = answers.back();
    // EXECABORT says that a command was refused; the refusal itself says why. Put together as the
    // server does where it knows both.
    for (const result<reply>& r : answers) {
        if (!last || !last->is_error() || &r == &last) break;
        if (!r || !r->is_error()) continue;
        last = reply::error("EXECABORT Transaction discarded because of: " + r->text());
        break;
    }
    if (was_sent) keep_in_doubt(last);
    return std::move(last);
}

result<std::unique_ptr<command_session>> server_link::open_session(time_point give_up) {
    return sessions_->lend(give_up);
}

result<std::unique_ptr<subscription>> server_link::subscribe(std::string_view channel,
                                                             channel_scope scope,
                                                             push_handler handler,
                                                             time_point give_up) {
    return subscriber_->subscribe(channel, scope, std::move(handler), give_up);
}

result<std::unique_ptr<subscription>> server_link::watch_keys(std::string_view prefix,
                                                              push_handler handler,
                                                              time_point give_up) {
    profile own = profile_;
    own.tracked_prefix = prefix;
    auto by = std::make_shared<subscriber>(own, where_, time_, chance_, counts_);
    auto heard = by->subscribe(changes_channel, channel_scope::global, std::move(handler), give_up);
    if (!heard) return heard;
    {
        const std::scoped_lock guard(mutex_);
        std::erase_if(watchers_, [](const auto& one) { return one.expired(); });
        watchers_.push_back(by);
    }
    return std::make_unique<key_watch>(std::move(by), std::move(*heard));
}

std::vector<std::shared_ptr<subscriber>> server_link::watchers() {
    const std::scoped_lock guard(mutex_);
    std::vector<std::shared_ptr<subscriber>> all;
    for (const auto& one : watchers_) {
        if (auto there = one.lock()) all.push_back(std::move(there));
    }
    return all;
}

void server_link::read(redis_statistics& out) const {
    counts_->read(out);
    for (const auto& one : links_) {
        out.in_flight += one->in_flight();
        out.queued += one->queued();
    }
}

}  // namespace holdfast::redis
