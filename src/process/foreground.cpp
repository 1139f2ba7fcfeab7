// SPDX-License-Identifier: Apache-2.0
#include "process/foreground.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace holdfast::app {

foreground::foreground() : terminal_(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {}

bool foreground::is_ours() const noexcept {
    return exists() && ::tcgetpgrp(terminal_.get()) == ::getpgrp();
}

void foreground::give(pid_t group) const noexcept {
    if (is_ours()) ::tcsetpgrp(terminal_.get(), group);
}

void foreground::take_back(pid_t group) const noexcept {
    if (exists() && ::tcgetpgrp(terminal_.get()) == group) {
        ::tcsetpgrp(terminal_.get(), ::getpgrp());
    }
}

}  // namespace holdfast::app
