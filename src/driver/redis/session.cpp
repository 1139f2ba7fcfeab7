// SPDX-License-Identifier: Apache-2.0
//
// A session does its I/O on the thread that calls it. Only `give_up` bounds a reply: a blocking
// command may rightly take longer than reply_timeout.
#include "driver/redis/session.hpp"

#include "core/command_word.hpp"
#include "driver/redis/encode.hpp"
#include "runtime/fork_watch.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace holdfast::redis {
namespace {

bool quiet(transport& stream) {
    char byte = 0;
    return ::recv(stream.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
           (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace

trace trace_of(std::string_view command_name) noexcept {
    constexpr std::array<std::string_view, 2> watching{"WATCH", "MULTI"};
    constexpr std::array<std::string_view, 3> clean{"EXEC", "DISCARD", "UNWATCH"};
    constexpr std::array<std::string_view, 11> stained{
        "SELECT",     "AUTH",    "HELLO", "CLIENT",   "SUBSCRIBE", "PSUBSCRIBE",
        "SSUBSCRIBE", "MONITOR", "RESET", "READONLY", "ASKING"};
    if (detail::is_among(command_name, watching)) return trace::watching;
    if (detail::is_among(command_name, clean)) return trace::clean_again;
    if (detail::is_among(command_name, stained)) return trace::stained;
    return trace::none;
}

class pooled_session final : public command_session {
public:
    pooled_session(std::shared_ptr<session_pool> pool, std::unique_ptr<wire> connection,
                   time_point born)
        : pool_(std::move(pool)), connection_(std::move(connection)), born_(born) {}

    ~pooled_session() override {
        if (generation_ != detail::fork_generation()) return;  // the parent's, not ours
        const bool reusable = connection_ && !watching_ && !stained_;
        if (connection_ && !reusable) pool_->count_end();
        pool_->give_back(reusable ? std::move(connection_) : nullptr, born_);
    }

    void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                  time_point give_up) override;

private:
    void note(std::string_view name);
    void load_scripts(std::span<const command> commands, std::span<result<reply>> replies,
                      time_point give_up);
    [[nodiscard]] std::string describe(std::string_view name, std::string_view what,
                                       time_point began) const;
    void send(std::span<const command> commands, std::span<result<reply>> replies,
              time_point give_up);

    std::shared_ptr<session_pool> pool_;
    std::unique_ptr<wire> connection_;
    time_point born_;
    std::string server_ = connection_ ? to_string(connection_->address()) : std::string();
    std::string bytes_;
    std::vector<reply> answers_;
    unsigned generation_ = detail::fork_generation();
    bool watching_ = false;
    bool stained_ = false;
};

void pooled_session::note(std::string_view name) {
    switch (trace_of(name)) {
        case trace::watching: watching_ = true; break;
        case trace::clean_again: watching_ = false; break;
        case trace::stained: stained_ = true; break;
        case trace::none: break;
    }
}

std::string pooled_session::describe(std::string_view name, std::string_view what,
                                     time_point began) const {
    const auto taken = std::chrono::floor<std::chrono::milliseconds>(pool_->time_.now() - began);
    return fmt::format("{} to {}: {} (session, after {} ms)", name, server_, what, taken.count());
}

void pooled_session::send(std::span<const command> commands, std::span<result<reply>> replies,
                          time_point give_up) {
    const time_point began = pool_->time_.now();
    if (generation_ != detail::fork_generation()) connection_.reset();
    if (connection_ && pool_->retired(*connection_, born_)) {
        connection_.reset();
        pool_->count_end();
    }
    if (!connection_ || began >= give_up) {
        for (std::size_t i = 0; i < commands.size(); ++i) {
            replies[i] = fail(connection_ ? errc::timed_out : errc::unavailable,
                              describe(commands[i].args[0],
                                       connection_ ? "the deadline had passed before the call"
                                                   : "the session's connection is gone",
                                       began));
        }
        return;
    }
    bytes_.clear();
    for (const command& c : commands) {
        append_command(bytes_, c.args);
        note(c.args[0]);
    }
    answers_.assign(commands.size(), {});
    const auto seen = connection_->pipeline(bytes_, answers_, give_up, pool_->time_, {});
    pool_->counts_->commands.add(commands.size());
    pool_->counts_->answered.add(seen.answered);
    std::size_t end = 0;
    for (std::size_t i = 0; i < commands.size(); ++i) {
        end += encoded_size(commands[i].args);
        if (i < seen.answered) {
            replies[i] = std::move(answers_[i]);
            continue;
        }
        const bool sent = end <= seen.written;
        const errc unsent = seen.late ? errc::timed_out : errc::unavailable;
        replies[i] = fail(sent ? errc::outcome_unknown : unsent,
                          describe(commands[i].args[0], seen.problem, began));
    }
    if (!seen.problem.empty()) {
        connection_.reset();
        pool_->count_end();
    }
}

// Inside MULTI a script that is not known is only found out by EXEC, too late to help; there it
// stays an error.
void pooled_session::load_scripts(std::span<const command> commands,
                                  std::span<result<reply>> replies, time_point give_up) {
    for (std::size_t i = 0; i < commands.size(); ++i) {
        const command& c = commands[i];
        if (c.body == nullptr || !replies[i] || !replies[i]->is_error()) continue;
        if (!replies[i]->text().starts_with("NOSCRIPT")) continue;
        const std::array<std::string_view, 3> load{"SCRIPT", "LOAD", c.body->source()};
        const std::array<command, 2> both{command{load}, c};
        std::array<result<reply>, 2> answers;
        send(both, answers, give_up);
        const bool refused = answers[0] && answers[0]->is_error();
        replies[i] = std::move(answers[refused ? 0 : 1]);
    }
}

void pooled_session::exchange(std::span<const command> commands, std::span<result<reply>> replies,
                              time_point give_up) {
    send(commands, replies, give_up);
    load_scripts(commands, replies, give_up);
}

session_pool::session_pool(const profile& p, server_locator where, clock& time,
                           std::shared_ptr<counters> counts)
    : profile_(p), where_(std::move(where)), time_(time), counts_(std::move(counts)) {}

result<std::unique_ptr<command_session>> session_pool::lend(time_point give_up) {
    std::unique_ptr<wire> connection;
    time_point born = time_.now();
    {
        const std::scoped_lock guard(mutex_);
        if (lent_ >= profile_.options.sessions) {
            return fail(errc::unavailable,
                        fmt::format("session: all {} are lent; raise the option sessions", lent_));
        }
        while (!idle_.empty() && !connection) {
            connection = std::move(idle_.back().connection);
            born = idle_.back().born;
            idle_.pop_back();
            if (!is_retired(*connection, born) && quiet(connection->stream())) continue;
            connection.reset();
            count_end();
        }
        ++lent_;
    }
    (connection ? counts_->hits : counts_->misses).add();
    if (!connection) {
        born = time_.now();
        const time_point deadline = std::min(give_up, born + profile_.options.connect_timeout);
        auto address = where_(deadline);
        result<std::unique_ptr<wire>> made = std::unexpected(error{errc::unavailable, {}});
        if (address) {
            made = wire::open(*address, profile_, deadline, time_, [] { return true; });
        } else {
            made = std::unexpected(address.error());
        }
        if (!made) {
            counts_->connect_failures.add();
            const std::scoped_lock guard(mutex_);
            --lent_;
            return std::unexpected(made.error());
        }
        counts_->connects.add();
        counts_->open_connections.add();
        connection = std::move(*made);
    }
    return std::make_unique<pooled_session>(shared_from_this(), std::move(connection), born);
}

void session_pool::give_back(std::unique_ptr<wire> connection, time_point born) noexcept {
    const std::scoped_lock guard(mutex_);
    --lent_;
    if (connection) idle_.push_back({std::move(connection), born});
}

bool session_pool::retired(const wire& connection, time_point born) {
    const std::scoped_lock guard(mutex_);
    return is_retired(connection, born);
}

// Requires: the mutex is held.
bool session_pool::is_retired(const wire& connection, time_point born) const noexcept {
    return born < all_retired_until_ ||
           (born < others_retired_until_ && connection.address() != spared_);
}

void session_pool::retire_before(time_point moment, const server_address* spared) {
    std::vector<resting> ended;
    const std::scoped_lock guard(mutex_);
    auto& until = spared != nullptr ? others_retired_until_ : all_retired_until_;
    until = std::max(until, moment);
    if (spared != nullptr) spared_ = *spared;
    for (resting& one : idle_) {
        if (is_retired(*one.connection, one.born)) ended.push_back(std::move(one));
    }
    std::erase_if(idle_, [](const resting& one) { return one.connection == nullptr; });
    for (std::size_t i = 0; i < ended.size(); ++i) count_end();
}

void session_pool::count_end() noexcept {
    counts_->disconnects.add();
    counts_->open_connections.take();
}

}  // namespace holdfast::redis
