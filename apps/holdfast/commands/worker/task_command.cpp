// SPDX-License-Identifier: Apache-2.0
#include "commands/worker/task_command.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <optional>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_line = 4096;

/// The command's end of a pipe, and the lines that come out of ours.
class line_pipe {
public:
    line_pipe() {
        std::array<int, 2> ends{-1, -1};
        if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
        reads_ = descriptor(ends[0]);
        writes_ = descriptor(ends[1]);
        // The command's end blocks, as programs expect.
        ::fcntl(writes_.get(), F_SETFL, 0);
    }
    [[nodiscard]] int writer() const noexcept { return writes_.get(); }
    [[nodiscard]] int reader() const noexcept { return reads_.get(); }
    void close_writer() noexcept { writes_.close(); }

    template <class Use>
    void read_lines(Use use) {
        std::array<char, 4096> bytes{};
        while (true) {
            const ssize_t got = ::read(reads_.get(), bytes.data(), bytes.size());
            if (got == 0) reads_.close();
            if (got <= 0) return;
            for (const char c : std::string_view(bytes.data(), static_cast<std::size_t>(got))) {
                if (c == '\n') {
                    use(std::string_view(line_));
                    line_.clear();
                } else if (line_.size() < longest_line) {
                    line_ += c;
                }
            }
        }
    }

private:
    descriptor reads_;
    descriptor writes_;
    std::string line_;
};

/// From the command's start to its end.
class command_watch {
public:
    command_watch(child& command, guardian& guard, task_context& task, duration grace)
        : command_(command), guard_(guard), task_(task), grace_(grace) {}

    template <class Use>
    command_ground::ending run(line_pipe& lines, Use use) {
        while (true) {
            lines.read_lines(use);
            const time_point now = system_clock().now();
            guard_.extend(now + task_.lease_left());
            if (const auto seen = command_.look(); seen && seen->type == child_event::kind::ended) {
                lines.read_lines(use);
                return end(seen->number);
            }
            if (task_.stop().stop_requested()) ask_to_end(now);
            pollfd wait{lines.reader(), POLLIN, 0};
            ::poll(&wait, lines.reader() >= 0 ? 1 : 0, 10);
        }
    }

private:
    // A lease that is over leaves no grace: somebody else may run by now.
    void ask_to_end(time_point now) {
        if (!kill_at_) {
            command_.send(SIGTERM);
            kill_at_ = now + grace_;
        }
        if (now >= *kill_at_ || task_.lease_left() == duration::zero()) command_.send(SIGKILL);
    }

    command_ground::ending end(int code) {
        command_.send(SIGKILL);  // whoever it left behind in its group
        command_.bury();
        guard_.watch(0, {});
        return {.code = code, .stopped = kill_at_.has_value()};
    }

    child& command_;
    guardian& guard_;
    task_context& task_;
    const duration grace_;
    std::optional<time_point> kill_at_;
};

}  // namespace

result<command_ground> command_ground::open(signal_inbox& signals, int at_a_time) {
    command_ground made(signals);
    for (int i = 0; i < at_a_time; ++i) {
        auto one = guardian::start();
        if (!one) return std::unexpected(std::move(one.error()));
        made.guardians_.push_back(std::move(*one));
    }
    return made;
}

// There are as many as handlers that run at the same time.
guardian command_ground::take_guardian() {
    const std::scoped_lock guard(*mutex_);
    guardian one = std::move(guardians_.back());
    guardians_.pop_back();
    return one;
}

void command_ground::put_back(guardian one) {
    const std::scoped_lock guard(*mutex_);
    guardians_.push_back(std::move(one));
}

command_ground::ending command_ground::run(plan what, task_context& task) {
    line_pipe lines;
    const std::string number = std::to_string(child::kept_as);
    for (std::string& word : what.words) {
        if (const auto at = word.find("{progress_fd}"); at != std::string::npos) {
            word.replace(at, std::string_view("{progress_fd}").size(), number);
        }
    }
    what.variables.emplace_back("HOLDFAST_PROGRESS_FD", number);
    guardian guard = take_guardian();
    auto command =
        child::start({what.words, what.variables, lines.writer()}, *signals_, [&](pid_t group) {
            guard.watch(group, system_clock().now() + task.lease_left());
            return task.lease_left() > duration::zero();
        });
    lines.close_writer();
    ending end;
    if (!command) {
        guard.watch(0, {});
        end = {
            .code = 127, .not_started = command.error().why, .stopped = command.error().why == 0};
    } else {
        end =
            command_watch(*command, guard, task, what.grace).run(lines, [&](std::string_view line) {
                if (what.on_line) what.on_line(line);
            });
    }
    put_back(std::move(guard));
    return end;
}

}  // namespace holdfast::app
