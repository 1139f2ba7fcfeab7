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

TEST(mysql_url, names_a_server_and_a_database) {
    EXPECT_EQ(objection("mysql://db.example.com/app"), "");
    EXPECT_EQ(objection("mariadb://db.example.com:3307,other/app"), "");
    EXPECT_EQ(objection("mysql:///app?socket=/run/mysqld/mysqld.sock"), "");
    EXPECT_THAT(objection("mysql:///app"), HasSubstr("names a server"));
    EXPECT_THAT(objection("mysql://db.example.com"), HasSubstr("names a database"));
    EXPECT_THAT(objection("mysql://db.example.com/a/b"), HasSubstr("names a database"));
    EXPECT_THAT(objection("mysql://db/app?socket=/run/s"), HasSubstr("option socket"));
}

TEST(mysql_url, an_option_that_makes_no_sense_is_named) {
    const std::string url = "mysql://db.example.com/app?";
    EXPECT_THAT(objection(url + "connections=0"), HasSubstr("option connections"));
    EXPECT_THAT(objection(url + "sslmode=verify-ca"), HasSubstr("disable, require or verify-full"));
    EXPECT_THAT(objection(url + "statement_timeout=never"), HasSubstr("10ms to 10m"));
    EXPECT_THAT(objection(url + "create=perhaps"), HasSubstr("on or off"));
    EXPECT_THAT(objection(url + "port=70000"), HasSubstr("option port"));
    EXPECT_THAT(objection(url + "password_env=HOLDFAST_NO_SUCH"), HasSubstr("password_env"));
    EXPECT_THAT(objection(url + "schema=x"), HasSubstr("has no option 'schema'"));
}

}  // namespace
}  // namespace holdfast::test
