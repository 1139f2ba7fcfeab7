// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "descriptor.hpp"

#include <holdfast/error.hpp>

#include <sys/types.h>

#include <filesystem>
#include <utility>

/// A directory that a measurement makes for its files, and that goes with it, also if the
/// measurement is broken off by Ctrl-C or killed.
///
/// For that there is a second process, which does nothing but wait. It holds the other end of a
/// pipe to this one; when that closes, for whatever reason, it removes what is still there.
namespace holdfast::app {

class own_directory {
public:
    /// Errors: unavailable; the detail names the place.
    /// Requires: this process has no other thread.
    [[nodiscard]] static result<own_directory> make(const std::filesystem::path& within);
    own_directory() = default;
    own_directory(own_directory&& other) noexcept
        : path_(std::exchange(other.path_, {})),
          line_(std::move(other.line_)),
          sweeper_(std::exchange(other.sweeper_, -1)) {}
    own_directory& operator=(own_directory&& other) noexcept {
        std::swap(path_, other.path_);
        std::swap(line_, other.line_);
        std::swap(sweeper_, other.sweeper_);
        return *this;
    }
    ~own_directory();

    /// Empty if none was made.
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    explicit own_directory(std::filesystem::path made) : path_(std::move(made)) {}
    void leave_to_sweeper();

    std::filesystem::path path_;
    descriptor line_;  ///< Closed: the sweeper sweeps, and ends.
    pid_t sweeper_ = -1;
};

}  // namespace holdfast::app
