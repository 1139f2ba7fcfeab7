// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "process/descriptor.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

/// Where a parent waits until its child stands on its own.
///
/// Until a child of fork() has a session of its own, what is sent to our process group is for it
/// too; and on a busy machine that may take a while. A child that then closes all that it has
/// inherited says so by that.
namespace holdfast::app {

/// The only descriptor that a child which stands apart has.
inline constexpr int kept_open = 0;

/// In a child of fork() that outlives us: it has a session of its own, hears no signal, is in
/// nobody's directory, and has closed everything but `kept`, which is `kept_open` from now on.
inline void stand_apart(const char* name, int kept) noexcept {
    sigset_t all{};
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    ::setsid();
    ::prctl(PR_SET_NAME, name);
    [[maybe_unused]] const int moved = ::chdir("/");
    ::dup2(kept, kept_open);
    ::close_range(kept_open + 1, ~0U, 0);
}

class start_line {
public:
    start_line() {
        std::array<int, 2> ends{-1, -1};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;  // then nobody waits
        reads_ = descriptor(ends[0]);
        writes_ = descriptor(ends[1]);
    }

    /// In the parent, after fork(): until the child has closed it, or is gone.
    void wait() {
        writes_.close();
        char nothing = 0;
        while (::read(reads_.get(), &nothing, 1) < 0 && errno == EINTR) {
        }
    }

private:
    descriptor reads_;
    descriptor writes_;
};

}  // namespace holdfast::app
