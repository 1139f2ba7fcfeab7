// SPDX-License-Identifier: Apache-2.0
#include "runtime/event.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace holdfast::detail {

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

}  // namespace holdfast::detail
