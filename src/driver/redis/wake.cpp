// SPDX-License-Identifier: Apache-2.0
#include "driver/redis/wake.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace holdfast::redis {

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen,
                const timespec& timeout) noexcept {
    ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, &timeout, nullptr, 0);
}

void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept {
    ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace holdfast::redis
