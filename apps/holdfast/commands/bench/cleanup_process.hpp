// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "process/descriptor.hpp"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <utility>

/// Cleans up after a measurement, also if that is broken off by Ctrl-C or killed.
///
/// For that there is a second process, which does nothing but wait. It holds the other end of a
/// pipe to this one; when that closes, for whatever reason, it does what it was told, and ends.
namespace holdfast::app {

class cleanup_process {
public:
    /// Who must be gone before it begins: we, or also the programs that we have started.
    enum class after : std::uint8_t { us, us_and_our_programs };

    cleanup_process() = default;  ///< None.

    /// Without one, if there is no process to be had, only a measurement that is killed leaves
    /// something behind.
    /// Requires: this process has no other thread.
    cleanup_process(after whom, const std::function<void()>& sweep);
    cleanup_process(cleanup_process&& other) noexcept
        : line_(std::move(other.line_)), process_(std::exchange(other.process_, -1)) {}
    cleanup_process& operator=(cleanup_process&& other) noexcept {
        std::swap(line_, other.line_);
        std::swap(process_, other.process_);
        return *this;
    }
    /// Has it done, and waits for that.
    ~cleanup_process();

private:
    descriptor line_;
    pid_t process_ = -1;
};

}  // namespace holdfast::app
