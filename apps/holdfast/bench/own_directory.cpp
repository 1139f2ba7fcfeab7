// SPDX-License-Identifier: Apache-2.0
#include "bench/own_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <system_error>

namespace holdfast::app {
namespace {

// A server that is just being killed may write once more.
void sweep(const std::filesystem::path& place) {
    std::error_code ignored;
    for (int i = 0; i < 50 && std::filesystem::exists(place, ignored); ++i) {
        std::filesystem::remove_all(place, ignored);
        if (std::filesystem::exists(place, ignored)) ::poll(nullptr, 0, 20);
    }
}

// In a session of its own: what the terminal sends is not for it.
[[noreturn]] void wait_and_sweep(const std::filesystem::path& place, int line) {
    sigset_t all{};
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    ::setsid();
    ::prctl(PR_SET_NAME, "holdfast-sweep");
    [[maybe_unused]] const int moved = ::chdir("/");
    constexpr int kept = 0;  // the only one that it keeps open
    ::dup2(line, kept);
    ::close_range(1, ~0U, 0);
    char nothing = 0;
    while (::read(kept, &nothing, 1) < 0 && errno == EINTR) {
    }
    sweep(place);
    ::_exit(0);
}

}  // namespace

result<own_directory> own_directory::make(const std::filesystem::path& within) {
    std::string pattern = within / "holdfast-bench-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
        return fail(errc::unavailable,
                    fmt::format("cannot make a directory for the measurement in {}: {}",
                                within.string(), std::generic_category().message(errno)));
    }
    own_directory made{std::filesystem::path(pattern)};
    made.leave_to_sweeper();
    return made;
}

// Without one, only a measurement that is killed leaves its directory behind.
void own_directory::leave_to_sweeper() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
    const descriptor reads(ends[0]);
    descriptor writes(ends[1]);
    const pid_t pid = ::fork();
    if (pid == 0) wait_and_sweep(path_, reads.get());
    if (pid < 0) return;
    line_ = std::move(writes);
    sweeper_ = pid;
}

own_directory::~own_directory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    line_.close();
    if (sweeper_ < 0) return;
    while (::waitpid(sweeper_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace holdfast::app
