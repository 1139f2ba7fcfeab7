// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>

#include <filesystem>
#include <utility>

/// A directory that a measurement makes for its files, and that goes with it.
namespace holdfast::app {

class own_directory {
public:
    /// Errors: unavailable; the detail names the place.
    [[nodiscard]] static result<own_directory> make(const std::filesystem::path& within);
    own_directory() = default;
    own_directory(own_directory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    own_directory& operator=(own_directory&& other) noexcept {
        std::swap(path_, other.path_);
        return *this;
    }
    ~own_directory();

    /// Empty if none was made.
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    explicit own_directory(std::filesystem::path made) : path_(std::move(made)) {}

    std::filesystem::path path_;
};

}  // namespace holdfast::app
