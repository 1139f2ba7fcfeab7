// SPDX-License-Identifier: Apache-2.0
#include "driver/mysql/statement_text.hpp"

#include <gmock/gmock.h>

#include <array>

namespace holdfast::mysql {
namespace {

using testing::ElementsAre;

TEST(statement_text, has_a_plain_mark_for_each_place) {
    const statement_text text("UPDATE t SET a = ?2, b = ?2 WHERE c = ?1");
    EXPECT_EQ(text.prepared(), "UPDATE t SET a = ?, b = ? WHERE c = ?");
    EXPECT_THAT(text.places(), ElementsAre(1, 1, 0));
    EXPECT_EQ(text.statements(), 1U);
    EXPECT_EQ(statement_text("SELECT ?1; SELECT 2").statements(), 2U);
}

TEST(statement_text, a_value_is_never_read_as_sql) {
    const statement_text text("SELECT ?1, ?2, ?3");
    const std::array<sql::value, 3> values{std::string_view("a'\\;"), std::int64_t{-7},
                                           std::string_view()};
    std::string out = "BEGIN;";
    text.append_to(out, values);
    EXPECT_EQ(out, "BEGIN;SELECT X'61275c3b', -7, X''");
}

}  // namespace
}  // namespace holdfast::mysql
