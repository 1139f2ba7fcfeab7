// SPDX-License-Identifier: Apache-2.0
#include "mutants.hpp"
#include "source_mutants.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
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
        if (!one.file.empty()) continue;
        EXPECT_NE(one.text, one.instead) << one.name;
        EXPECT_TRUE(std::ranges::any_of(
            scripts, [&](std::string_view body) { return body.contains(one.text); }))
            << one.name << ": no script has the text that it replaces";
    }
}

std::string text_of(std::string_view file) {
    std::ifstream in(std::filesystem::path(HOLDFAST_SOURCE_DIR) / file);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(mutants, of_sources_change_a_text_that_is_there_exactly_once) {
    ASSERT_FALSE(mutated_files().empty());
    for (const std::string_view file : mutated_files()) {
        const std::string text = text_of(file);
        ASSERT_FALSE(text.empty()) << file;
        const auto made = mutated_source(file, text);
        EXPECT_TRUE(made) << (made ? "" : made.error());
    }
}

TEST(mutants, of_sources_are_behind_their_switch) {
    const std::string_view file = "src/core/validity.hpp";
    const auto made = mutated_source(file, text_of(file));
    ASSERT_TRUE(made) << made.error();
    EXPECT_TRUE(made->contains(R"((::holdfast::mutation("no_allowance_for_drift") ? ()"));
}

TEST(mutants, of_sources_are_refused_if_their_text_is_gone_or_there_twice) {
    const std::string_view file = "src/core/validity.hpp";
    const std::string text = text_of(file);
    EXPECT_FALSE(mutated_source(file, ""));
    EXPECT_FALSE(mutated_source(file, text + text));
}

}  // namespace
}  // namespace holdfast::sim
