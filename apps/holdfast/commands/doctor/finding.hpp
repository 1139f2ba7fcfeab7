// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// What `holdfast doctor` found: what is so, what that means for a lock, and how to fix it.
namespace holdfast::app {

struct finding {
    enum class level : std::uint8_t {
        good,
        note,    ///< Worth knowing; no lock breaks by it.
        unsafe,  ///< Two may hold the same lock by it, or nobody can, or anybody can break it.
    };
    level weight;
    std::string about;  ///< A word or two, the same for machines and people: "eviction".
    std::string where;  ///< Which server or file.
    std::string text;   ///< One sentence.
    std::string fix;    ///< What to do about it; empty if there is nothing to do.
};

using findings = std::vector<finding>;

}  // namespace holdfast::app
