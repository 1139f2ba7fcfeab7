// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

/// A directory that goes away with the object.
namespace holdfast::test {

class temporary_directory {
public:
    /// Throws std::system_error when it cannot be made.
    temporary_directory();
    temporary_directory(const temporary_directory&) = delete;
    temporary_directory& operator=(const temporary_directory&) = delete;
    ~temporary_directory();

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

}  // namespace holdfast::test
