// SPDX-License-Identifier: Apache-2.0
#include "redis/wake.hpp"

#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <system_error>

namespace holdfast::redis {

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen,
                const timespec& timeout) noexcept {
    ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, &timeout, nullptr, 0);
}

void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept {
    ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

event::event() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

event::~event() {
    ::close(fd_);
}

void event::raise() noexcept {
    if (raised_.exchange(true)) return;
    const std::uint64_t one = 1;
    while (::write(fd_, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

// First the counter, then the flag: whoever raises in between does not write, but has changed the
// state before, and who clears looks at the state afterwards.
void event::clear() noexcept {
    std::uint64_t count = 0;
    while (::read(fd_, &count, sizeof count) < 0 && errno == EINTR) {
    }
    raised_.exchange(false);
}

}  // namespace holdfast::redis
