// SPDX-License-Identifier: Apache-2.0
#include "mutants.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace holdfast::sim {
namespace {

// As servers get them: without comments and indentation.
constexpr std::string_view acquire{
#include "scripts/acquire.inc"
};
constexpr std::string_view leave{
#include "scripts/leave.inc"
};
constexpr std::string_view release_free{
#include "scripts/release_free.inc"
};
constexpr std::string_view raise_fence{
#include "scripts/raise_fence.inc"
};
constexpr std::string_view release{
#include "scripts/release.inc"
};
constexpr std::string_view renew{
#include "scripts/renew.inc"
};
constexpr std::string_view renew_above{
#include "scripts/renew_above.inc"
};
constexpr std::string_view stand_aside{
#include "scripts/stand_aside.inc"
};
constexpr std::array scripts{acquire, leave, release_free, raise_fence,
                             release, renew, renew_above,  stand_aside};

TEST(mutants, of_scripts_change_a_script) {
    for (const mutant& one : all_mutants()) {
        if (one.script_text.empty()) continue;
        EXPECT_NE(one.script_text, one.instead) << one.name;
        EXPECT_TRUE(std::ranges::any_of(
            scripts, [&](std::string_view body) { return body.contains(one.script_text); }))
            << one.name << ": no script has the text that it replaces";
    }
}

}  // namespace
}  // namespace holdfast::sim
