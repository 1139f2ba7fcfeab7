// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/event.hpp"

#include <atomic>
#include <cstdint>
#include <ctime>

/// The two ways in which one thread wakes another: a futex, and an event (runtime/event.hpp).
namespace holdfast::redis {

/// Sleeps while `word` is `seen`, at most for `timeout`. May return early.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen,
                const timespec& timeout) noexcept;

/// Wakes all who sleep on `word`, in one system call.
void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept;

using detail::event;

}  // namespace holdfast::redis
