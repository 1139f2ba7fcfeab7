// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

/// How one thread wakes another that waits in poll().
namespace holdfast::detail {

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

}  // namespace holdfast::detail
