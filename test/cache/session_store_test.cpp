// SPDX-License-Identifier: Apache-2.0
#include "cache/cache_ground.hpp"

#include <holdfast/session_store.hpp>

#include <gmock/gmock.h>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::UnorderedElementsAre;

class session_test : public cache_test {
protected:
    session_store store(duration ttl = 1h, duration absolute = 24h * 7, int most = 100) {
        return session_store(
            where(),
            {.ttl = ttl, .absolute = absolute, .max_per_user = most, .prefix = ground_->prefix()});
    }
    std::string key(const std::string& id) {
        return ground_->prefix() + "{" + id.substr(0, 16) + "}" + id.substr(16);
    }
};

INSTANTIATE_TEST_SUITE_P(engines, session_test, testing::ValuesIn(cache_engines()), engine_name);

TEST_P(session_test, is_made_read_and_ended) {
    auto sessions = store();
    const auto made = sessions.create("alice", {{"theme", "dark"}}).value();
    EXPECT_EQ(made.id.size(), 48U);
    const auto seen = sessions.get(made.id).value();
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->user, "alice");
    EXPECT_EQ(seen->version, 1U);
    EXPECT_EQ(seen->fields, (session_fields{{"theme", "dark"}}));
    EXPECT_GT(raw("PTTL", key(made.id)).number(), 3590 * 1000);
    EXPECT_TRUE(sessions.end(made.id).value());
    EXPECT_FALSE(sessions.end(made.id).value());
    EXPECT_FALSE(sessions.get(made.id).value());
    EXPECT_FALSE(sessions.get("../../etc/passwd").value());
}

TEST_P(session_test, ids_of_one_user_share_nothing_but_the_slot) {
    auto sessions = store();
    const auto one = sessions.create("alice")->id;
    const auto two = sessions.create("alice")->id;
    EXPECT_EQ(one.substr(0, 16), two.substr(0, 16));
    EXPECT_NE(one.substr(16), two.substr(16));
    EXPECT_NE(one.substr(0, 16), sessions.create("bob")->id.substr(0, 16));
}

TEST_P(session_test, a_use_prolongs_it_and_idleness_ends_it) {
    auto sessions = store(1s, 1h);
    const auto id = sessions.create("alice")->id;
    for (int i = 0; i < 3; ++i) {
        ground_->pass(500ms);
        EXPECT_TRUE(sessions.get(id).value()) << i;
    }
    ground_->pass(1100ms);
    EXPECT_FALSE(sessions.get(id).value());
    EXPECT_TRUE(sessions.sessions_of("alice")->empty());
}

TEST_P(session_test, its_absolute_end_comes_whatever_is_used) {
    auto sessions = store(1s, 1500ms);
    const auto id = sessions.create("alice")->id;
    ground_->pass(600ms);
    EXPECT_TRUE(sessions.get(id).value());
    ground_->pass(600ms);
    EXPECT_TRUE(sessions.get(id).value());
    ground_->pass(400ms);
    EXPECT_FALSE(sessions.get(id).value());
}

TEST_P(session_test, a_use_is_noted_at_most_each_tenth_of_the_ttl) {
    auto sessions = store(100s);
    const auto id = sessions.create("alice")->id;
    const auto noted = raw("HGET", key(id), "_seen").text();
    ASSERT_TRUE(sessions.get(id));
    ASSERT_TRUE(sessions.get(id));
    EXPECT_EQ(raw("HGET", key(id), "_seen").text(), noted);
    if (!virtual_time()) return;
    ground_->pass(11s);
    ASSERT_TRUE(sessions.get(id));
    EXPECT_NE(raw("HGET", key(id), "_seen").text(), noted);
}

TEST_P(session_test, a_write_checks_the_version_and_touches_only_its_fields) {
    auto sessions = store();
    const auto id = sessions.create("alice", {{"a", "1"}, {"b", "2"}})->id;
    EXPECT_EQ(sessions.write(id, {.set = {{"a", "3"}}, .remove = {"b"}, .version = 1}).value(), 2U);
    EXPECT_EQ(sessions.write(id, {.set = {{"a", "4"}}, .version = 1}).error(), errc::busy);
    EXPECT_EQ(sessions.write(id, {.set = {{"c", "5"}}}).value(), 3U);
    EXPECT_EQ(sessions.get(id).value()->fields, (session_fields{{"a", "3"}, {"c", "5"}}));
    EXPECT_EQ(sessions.write(id, {.set = {{"_user", "root"}}}).error(), errc::invalid_argument);
    EXPECT_EQ(sessions.write(id, {.remove = {"_user"}}).error(), errc::invalid_argument);
    ASSERT_TRUE(sessions.end(id));
    EXPECT_EQ(sessions.write(id, {.set = {{"a", "6"}}}).error(), errc::lease_lost);
    EXPECT_FALSE(sessions.get(id).value());
}

TEST_P(session_test, rotation_moves_everything_to_an_id_that_nobody_knew) {
    auto sessions = store();
    const auto old = sessions.create("alice", {{"a", "1"}})->id;
    const auto next = sessions.rotate(old).value();
    EXPECT_NE(old, next);
    EXPECT_FALSE(sessions.get(old).value());
    EXPECT_EQ(sessions.get(next).value()->fields, (session_fields{{"a", "1"}}));
    EXPECT_GT(raw("PTTL", key(next)).number(), 0);
    EXPECT_THAT(sessions.sessions_of("alice").value(), UnorderedElementsAre(next));
    EXPECT_EQ(sessions.rotate(old).error(), errc::lease_lost);
}

TEST_P(session_test, a_user_is_logged_out_everywhere) {
    auto sessions = store();
    const auto here = sessions.create("alice")->id;
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(sessions.create("alice"));
    const auto other = sessions.create("bob")->id;
    EXPECT_EQ(sessions.end_all("alice", here).value(), 5U);
    EXPECT_THAT(sessions.sessions_of("alice").value(), UnorderedElementsAre(here));
    EXPECT_EQ(sessions.end_all("alice").value(), 1U);
    EXPECT_FALSE(sessions.get(here).value());
    EXPECT_TRUE(sessions.get(other).value());
}

TEST_P(session_test, a_user_has_a_bounded_number_of_sessions) {
    auto sessions = store(1h, 24h, 2);
    const auto one = sessions.create("alice")->id;
    ASSERT_TRUE(sessions.create("alice"));
    EXPECT_EQ(sessions.create("alice").error(), errc::busy);
    ASSERT_TRUE(sessions.end(one));
    EXPECT_TRUE(sessions.create("alice"));
    EXPECT_EQ(store(1h, 1min).create("alice").error(), errc::invalid_argument);
    EXPECT_EQ(sessions.create("").error(), errc::invalid_argument);
}

}  // namespace
}  // namespace holdfast::test
