// SPDX-License-Identifier: Apache-2.0
#include "process/guardian.hpp"

#include "process/start_line.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>

namespace holdfast::app {
namespace {

/// All that it is told, each time. Smaller than PIPE_BUF, so it comes whole.
struct orders {
    pid_t group = 0;
    std::int64_t until_ns = 0;
};

constexpr int line = kept_open;  // and the next: the only two that it keeps open
constexpr int alarm_clock = 1;

void set_alarm(std::int64_t until_ns) {
    constexpr std::int64_t second = 1'000'000'000;
    itimerspec at{};
    at.it_value.tv_sec = until_ns / second;
    at.it_value.tv_nsec = until_ns % second;
    ::timerfd_settime(alarm_clock, TFD_TIMER_ABSTIME, &at, nullptr);
}

void end_group(pid_t group) {
    if (group > 1) ::kill(-group, SIGKILL);
}

[[noreturn]] void stand_guard(int from) {
    stand_apart("holdfast-guard", from);
    ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK);  // the lowest that is free: alarm_clock
    orders now;
    std::array<pollfd, 2> seen{pollfd{line, POLLIN, 0}, pollfd{alarm_clock, POLLIN, 0}};
    while (true) {
        if (::poll(seen.data(), seen.size(), -1) < 0) continue;
        if (seen[0].revents != 0) {  // first: it may be about the alarm
            const ssize_t got = ::read(line, &now, sizeof now);
            if (got == 0) break;
            if (got == sizeof now) set_alarm(now.group == 0 ? 0 : now.until_ns);
            continue;
        }
        std::uint64_t count = 0;
        if (::read(alarm_clock, &count, sizeof count) == sizeof count) end_group(now.group);
    }
    end_group(now.group);
    ::_exit(0);
}

}  // namespace

result<guardian> guardian::start() {
    std::array<int, 2> ends{-1, -1};
    // A guardian that somebody stopped must not stop us when the pipe is full.
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
        return fail(errc::unavailable,
                    fmt::format("cannot make a pipe: {}", std::generic_category().message(errno)));
    }
    descriptor reads(ends[0]);
    descriptor writes(ends[1]);
    start_line start;
    const pid_t pid = ::fork();
    if (pid == 0) stand_guard(reads.get());
    if (pid < 0) {
        return fail(errc::unavailable, fmt::format("cannot start a process: {}",
                                                   std::generic_category().message(errno)));
    }
    start.wait();
    return guardian(std::move(writes), pid);
}

guardian::~guardian() {
    if (!line_.is_open()) return;
    line_.close();
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void guardian::watch(pid_t group, time_point valid_until) {
    group_ = group;
    until_ = valid_until;
    tell();
}

void guardian::extend(time_point valid_until) {
    if (valid_until <= until_ || group_ == 0) return;
    until_ = valid_until;
    tell();
}

// A guardian that was killed is not told any more; the parent-death signal is what remains.
void guardian::tell() const {
    const orders now{group_, until_.time_since_epoch().count()};
    [[maybe_unused]] const ssize_t put = ::write(line_.get(), &now, sizeof now);
}

}  // namespace holdfast::app
