// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/cleanup_process.hpp"

#include "process/start_line.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace holdfast::app {
namespace {

[[noreturn]] void wait_and_sweep(int line, const std::function<void()>& sweep) {
    stand_apart("holdfast-sweep", line);
    char nothing = 0;
    while (::read(kept_open, &nothing, 1) < 0 && errno == EINTR) {
    }
    sweep();
    ::_exit(0);
}

}  // namespace

cleanup_process::cleanup_process(after whom, const std::function<void()>& sweep) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
    const descriptor reads(ends[0]);
    descriptor writes(ends[1]);
    if (whom == after::us_and_our_programs) ::fcntl(writes.get(), F_SETFD, 0);
    start_line start;
    const pid_t pid = ::fork();
    if (pid == 0) wait_and_sweep(reads.get(), sweep);
    if (pid < 0) return;
    start.wait();
    line_ = std::move(writes);
    process_ = pid;
}

cleanup_process::~cleanup_process() {
    line_.close();
    if (process_ < 0) return;
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace holdfast::app
