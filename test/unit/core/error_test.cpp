// SPDX-License-Identifier: Apache-2.0
#include <holdfast/error.hpp>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(error, compares_with_its_code_and_reads_as_a_sentence) {
    const error e{errc::busy, "'a' is held by someone else"};
    EXPECT_EQ(e, errc::busy);
    EXPECT_NE(e, errc::timed_out);
    EXPECT_EQ(to_string(e), "busy: 'a' is held by someone else");
    EXPECT_EQ(to_string(error{errc::corrupt, ""}), "corrupt");
}

TEST(error, becomes_a_std_error_code_with_the_standards_conditions) {
    const std::error_code code = errc::timed_out;
    EXPECT_EQ(code, std::errc::timed_out);
    EXPECT_STREQ(code.category().name(), "holdfast");
    EXPECT_EQ(code.message(), "timed_out");
    EXPECT_NE(std::error_code(errc::lease_lost), std::errc::timed_out);
}

}  // namespace
}  // namespace holdfast
