// SPDX-License-Identifier: Apache-2.0
#include "tasks/output_place.hpp"
#include "support/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace holdfast::detail {
namespace {

namespace fs = std::filesystem;

class output_place : public testing::Test {
protected:
    [[nodiscard]] std::string place() const { return (folder_.path() / "out" / "a1").native(); }
    static void put(const fs::path& where, std::string_view text) { std::ofstream(where) << text; }

    test::temporary_directory folder_;
};

TEST_F(output_place, is_published_by_one_rename_which_may_be_repeated) {
    const auto staged = stage_output(place(), "a1", {3}).value();
    put(fs::path(staged) / "file", "x");
    EXPECT_FALSE(fs::exists(place()));
    EXPECT_EQ(move_into_place(staged, place()).value(), move_result::moved);
    EXPECT_TRUE(fs::exists(fs::path(place()) / "file"));
    EXPECT_FALSE(fs::exists(staged));
    EXPECT_EQ(move_into_place(staged, place()).value(), move_result::there);
}

TEST_F(output_place, is_never_replaced) {
    const auto first = stage_output(place(), "a1", {1}).value();
    put(fs::path(first) / "file", "first");
    const auto other = stage_output(place(), "b2", {1}).value();  // another task, the same place
    ASSERT_TRUE(fs::exists(first));
    EXPECT_EQ(move_into_place(first, place()).value(), move_result::moved);
    EXPECT_EQ(move_into_place(other, place()).value(), move_result::taken);
    EXPECT_EQ(stage_output(place(), "a1", {2}).error(), errc::invalid_argument);
    EXPECT_TRUE(fs::exists(fs::path(place()) / "file"));
}

TEST_F(output_place, what_earlier_claims_of_the_task_left_is_removed) {
    const auto first = stage_output(place(), "a1", {1}).value();
    put(fs::path(first) / "half", "x");
    const auto second = stage_output(place(), "a1", {2}).value();
    EXPECT_FALSE(fs::exists(first));
    EXPECT_TRUE(fs::is_empty(second));
    discard_output(second);
    EXPECT_EQ(move_into_place(second, place()).value(), move_result::gone);
}

TEST_F(output_place, refuses_what_is_no_place) {
    EXPECT_EQ(stage_output("", "a1", {1}).error(), errc::invalid_argument);
    EXPECT_EQ(stage_output("/", "a1", {1}).error(), errc::invalid_argument);
    EXPECT_EQ(stage_output("/proc/nothing/here", "a1", {1}).error(), errc::unavailable);
}

}  // namespace
}  // namespace holdfast::detail
