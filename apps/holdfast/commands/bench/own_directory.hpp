// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/bench/cleanup_process.hpp"

#include <holdfast/error.hpp>

#include <filesystem>
#include <utility>

/// A directory that a measurement makes for its files, and that goes with it, also if the
/// measurement is broken off by Ctrl-C or killed.
namespace holdfast::app {

class own_directory {
public:
    /// Errors: unavailable; the detail names the place.
    /// Requires: this process has no other thread.
    [[nodiscard]] static result<own_directory> make(const std::filesystem::path& within);
    own_directory() = default;
    own_directory(own_directory&& other) noexcept
        : path_(std::exchange(other.path_, {})),
          cleanup_process_(std::move(other.cleanup_process_)) {}
    own_directory& operator=(own_directory&& other) noexcept {
        std::swap(path_, other.path_);
        std::swap(cleanup_process_, other.cleanup_process_);
        return *this;
    }
    ~own_directory();

    /// Empty if none was made.
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    explicit own_directory(std::filesystem::path made) : path_(std::move(made)) {}

    std::filesystem::path path_;
    cleanup_process cleanup_process_;
};

}  // namespace holdfast::app
