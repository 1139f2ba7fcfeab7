// SPDX-License-Identifier: Apache-2.0
//
// What can be wrong with the tables: one sentence each, which says what to do.

#include HOLDFAST_SQL_GROUND  // the server's: its program says which

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

error trouble_at_url(const std::string& url) {
    auto on = open(url);
    if (!on) return on.error();
    const auto held = on->mutex("job").try_acquire();
    return held ? error{errc::busy, "it was granted"} : held.error();
}

TEST(sql_trouble, a_database_that_is_not_there_is_told) {
    const error why = trouble_at_url(shared_server().url("nowhere"));
    EXPECT_EQ(why.code, errc::invalid_argument);
    EXPECT_THAT(why.detail, HasSubstr("the server has no such database"));
}

TEST(sql_trouble, tables_are_not_made_where_the_url_forbids_it) {
    shared_server().sql("CREATE DATABASE bare");
    const error why = trouble_at_url(shared_server().url("bare") + "?create=off");
    EXPECT_EQ(why.code, errc::unavailable);
    EXPECT_THAT(why.detail, HasSubstr("create=off"));
}

TEST(sql_trouble, tables_of_a_later_version_are_refused) {
    shared_server().sql("CREATE DATABASE later");
    const std::string url = shared_server().url("later");
    ASSERT_EQ(trouble_at_url(url).detail, "it was granted");
    shared_server().sql("UPDATE holdfast_meta SET version = 99", "later");
    const error why = trouble_at_url(url);
    EXPECT_EQ(why.code, errc::unsupported);
    EXPECT_THAT(why.detail,
                AllOf(HasSubstr("its tables are of version 99"), HasSubstr("update this program")));
}

TEST(sql_trouble, tables_of_an_older_version_are_refused_and_made_anew_once_dropped) {
    shared_server().sql("CREATE DATABASE older");
    const std::string url = shared_server().url("older");
    ASSERT_EQ(trouble_at_url(url).detail, "it was granted");
    shared_server().sql("UPDATE holdfast_meta SET version = 2", "older");
    const error why = trouble_at_url(url);
    EXPECT_EQ(why.code, errc::unsupported);
    EXPECT_THAT(why.detail, AllOf(HasSubstr("its tables are of version 2"),
                                  HasSubstr("drop the tables whose names begin with holdfast_")));
    for (const char* table : {"names", "parties", "clients", "notes", "handoffs", "meta"}) {
        shared_server().sql(std::string("DROP TABLE IF EXISTS holdfast_") + table, "older");
    }
    EXPECT_EQ(trouble_at_url(url).detail, "it was granted");
}

TEST(sql_trouble, a_database_whose_tables_were_emptied_grants_nothing) {
    shared_server().sql("CREATE DATABASE emptied");
    auto one = open(shared_server().url("emptied")).value();
    auto two = open(shared_server().url("emptied")).value();
    const auto held = one.mutex("job").try_acquire();
    ASSERT_TRUE(held);
    ASSERT_EQ(two.mutex("job").try_acquire().error(), errc::busy);
    shared_server().sql("DELETE FROM holdfast_meta", "emptied");
    EXPECT_FALSE(two.mutex("job").try_acquire());
    const auto never_seen = two.mutex("another").try_acquire();
    ASSERT_FALSE(never_seen);
    EXPECT_EQ(never_seen.error(), errc::corrupt);
    EXPECT_THAT(never_seen.error().detail, HasSubstr("holdfast_meta has no row"));
}

}  // namespace
}  // namespace holdfast::test
