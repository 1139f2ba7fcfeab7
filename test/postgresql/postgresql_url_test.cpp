// SPDX-License-Identifier: Apache-2.0
#include <holdfast/client.hpp>

#include <gmock/gmock.h>

#include <string>

namespace holdfast::test {
namespace {

using testing::HasSubstr;

std::string objection(const std::string& url) {
    const auto on = open(url);
    return on ? "" : on.error().detail;
}

TEST(postgresql_url, names_a_server_and_a_database) {
    EXPECT_EQ(objection("postgresql://db.example.com/app"), "");
    EXPECT_EQ(objection("postgres://db.example.com:5433,other/app"), "");
    EXPECT_EQ(objection("postgresql:///app?host=/run/postgresql&port=5433"), "");
    EXPECT_THAT(objection("postgresql:///app"), HasSubstr("names a server"));
    EXPECT_THAT(objection("postgresql://db.example.com"), HasSubstr("names a database"));
    EXPECT_THAT(objection("postgresql://db.example.com/a/b"), HasSubstr("names a database"));
    EXPECT_THAT(objection("postgresql://db/app?host=/run"), HasSubstr("option host"));
}

TEST(postgresql_url, an_option_that_makes_no_sense_is_named) {
    const std::string url = "postgresql://db.example.com/app?";
    EXPECT_THAT(objection(url + "connections=0"), HasSubstr("option connections"));
    EXPECT_THAT(objection(url + "connections=4x"), HasSubstr("option connections"));
    EXPECT_THAT(objection(url + "sslmode=prefer"), HasSubstr("verify-full"));
    EXPECT_THAT(objection(url + "statement_timeout=never"), HasSubstr("10ms to 10m"));
    EXPECT_THAT(objection(url + "pooler=transaction"), HasSubstr("option pooler"));
    EXPECT_THAT(objection(url + "create=perhaps"), HasSubstr("on or off"));
    EXPECT_THAT(objection(url + "port=0"), HasSubstr("option port"));
    EXPECT_THAT(objection(url + "password_file=/nowhere/at/all"), HasSubstr("password_file"));
    EXPECT_THAT(objection(url + "conections=4"), HasSubstr("connections"));
}

}  // namespace
}  // namespace holdfast::test
