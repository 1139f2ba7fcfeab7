// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/temporary_directory.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

/// The time of day of one server, which a test can step (shifted_clock.c).
///
///     shifted_clock clock;
///     redis_server server({.preload = clock.library(), .environment = clock.environment()});
///     clock.step(1min);
namespace holdfast::test {

class shifted_clock {
public:
    shifted_clock() { step({}); }

    /// By how much the time of day differs from now on; negative sets it back.
    void step(std::chrono::nanoseconds by) {
        const std::int64_t shift = by.count();
        std::fstream file(page(), std::ios::in | std::ios::out | std::ios::binary);
        if (!file) file.open(page(), std::ios::out | std::ios::binary);
        file.write(reinterpret_cast<const char*>(&shift), sizeof shift);
    }

    [[nodiscard]] static std::filesystem::path library() { return HOLDFAST_SHIFTED_CLOCK; }
    [[nodiscard]] std::vector<std::string> environment() const {
        return {"SHIFTED_CLOCK=" + page().string()};
    }

private:
    [[nodiscard]] std::filesystem::path page() const { return directory_.path() / "shift"; }

    temporary_directory directory_;
};

}  // namespace holdfast::test
