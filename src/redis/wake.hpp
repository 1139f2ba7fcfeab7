// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

/// The two ways in which one thread wakes another: a futex and an eventfd.
namespace holdfast::redis {

/// Sleeps while `word` is `seen`, at most for `timeout`. May return early.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen,
                const timespec& timeout) noexcept;

/// Wakes all who sleep on `word`, in one system call.
void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept;

/// A counter in the kernel that makes poll() return.
class event {
public:
    event();
    ~event();
    event(const event&) = delete;
    event& operator=(const event&) = delete;

    [[nodiscard]] int fd() const noexcept { return fd_; }
    void raise() noexcept;
    /// Requires: the caller looks at what may have changed after this, not before.
    void clear() noexcept;

private:
    int fd_;
    std::atomic<bool> raised_{false};  ///< Spares the system call while one is already on its way.
};

}  // namespace holdfast::redis
