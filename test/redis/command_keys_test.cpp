// SPDX-License-Identifier: Apache-2.0
#include "core/command_keys.hpp"

#include "core/hash_slot.hpp"
#include "driver/redis/redirect.hpp"

#include <gtest/gtest.h>

#include <array>

namespace holdfast::redis {
namespace {

template <class... Words>
std::optional<unsigned> slot(const Words&... list) {
    return slot_of(words(list...)).value();
}

template <class... Words>
bool torn(const Words&... list) {
    const auto found = slot_of(words(list...));
    return !found && found.error() == errc::invalid_argument &&
           found.error().detail.starts_with("CROSSSLOT");
}

TEST(command_keys, are_found_by_the_commands_shape) {
    const unsigned k = hash_slot("k");
    EXPECT_EQ(slot("GET", "k"), k);
    EXPECT_EQ(slot("set", "k", "v"), k) << "names are not case-sensitive";
    EXPECT_EQ(slot("EVAL", "return 1", 1, "k", "argument"), k);
    EXPECT_EQ(slot("FCALL", "f", 2, "{k}1", "{k}2", "other"), k);
    EXPECT_EQ(slot("BLPOP", "{k}1", "{k}2", 0), k);
    EXPECT_EQ(slot("MSET", "{k}1", "v", "{k}2", "w"), k);
    EXPECT_EQ(slot("ZUNIONSTORE", "{k}to", 2, "{k}1", "{k}2", "WEIGHTS", 1, 2), k);
    EXPECT_EQ(slot("XREAD", "COUNT", 1, "streams", "{k}1", "{k}2", 0, 0), k);
    EXPECT_EQ(slot("OBJECT", "ENCODING", "k"), k);
    EXPECT_EQ(slot("BITOP", "AND", "{k}to", "{k}1"), k);
    EXPECT_EQ(slot("SPUBLISH", "k", "message"), k);
    EXPECT_EQ(slot("A.COMMAND.OF.A.MODULE.WITH.A.LONG.NAME", "k"), k);
}

TEST(command_keys, are_none_where_there_are_none) {
    EXPECT_EQ(slot("PING"), std::nullopt);
    EXPECT_EQ(slot("ping", "text"), std::nullopt);
    EXPECT_EQ(slot("SCRIPT", "LOAD", "return 1"), std::nullopt);
    EXPECT_EQ(slot("PUBLISH", "channel", "message"), std::nullopt);
    EXPECT_EQ(slot("EVAL", "return 1", 0, "argument"), std::nullopt);
    EXPECT_EQ(slot("EVAL", "return 1"), std::nullopt) << "the server will refuse it";
    EXPECT_EQ(slot("EVAL", "return 1", "many", "k"), std::nullopt);
    EXPECT_EQ(slot("EVAL", "return 1", -1, "k"), std::nullopt);
    EXPECT_EQ(slot("GET"), std::nullopt);
    EXPECT_EQ(slot("BLPOP"), std::nullopt);
    EXPECT_EQ(slot("XREAD", "STREAMS"), std::nullopt);
}

TEST(command_keys, in_different_slots_are_refused) {
    EXPECT_TRUE(torn("MGET", "a", "b"));
    EXPECT_TRUE(torn("RENAME", "a", "b"));
    EXPECT_TRUE(torn("EVAL", "return 1", 2, "a", "b"));
    EXPECT_TRUE(torn("ZUNIONSTORE", "a", 1, "b"));
    EXPECT_FALSE(torn("MSET", "{t}a", "b", "{t}c", "d"));
    const auto first = words("GET", "a");
    const auto second = words("GET", "b");
    const std::array<command, 2> both{first, second};
    EXPECT_FALSE(slot_of(both));
}

redirect read(const char* text) {
    return redirect_of(reply::error(text), {.host = "asked", .port = 1, .unix_path = {}});
}

TEST(redirect, names_the_slot_and_the_node) {
    const redirect moved = read("MOVED 3999 127.0.0.1:6381");
    EXPECT_EQ(moved.type, redirect::kind::moved);
    EXPECT_EQ(moved.slot, 3999U);
    EXPECT_EQ(to_string(moved.to), "127.0.0.1:6381");
    EXPECT_EQ(read("ASK 1 ::1:6381").type, redirect::kind::ask);
    EXPECT_EQ(to_string(read("ASK 1 ::1:6381").to), "[::1]:6381");
    EXPECT_EQ(to_string(read("MOVED 1 :6381").to), "asked:6381");
    EXPECT_EQ(read("EXECABORT Transaction discarded because of: MOVED 1 h:2").slot, 1U);
    EXPECT_EQ(read("TRYAGAIN Multiple keys request").type, redirect::kind::wait);
    EXPECT_EQ(read("CLUSTERDOWN Hash slot not served").type, redirect::kind::wait);
}

TEST(redirect, is_none_in_anything_else) {
    EXPECT_EQ(read("ERR MOVED 1 h:2").type, redirect::kind::none);
    EXPECT_EQ(read("MOVED").type, redirect::kind::none);
    EXPECT_EQ(read("MOVED 99999 h:2").type, redirect::kind::none);
    EXPECT_EQ(read("MOVED 1 h:").type, redirect::kind::none);
    EXPECT_EQ(redirect_of(reply::string("MOVED 1 h:2"), {}).type, redirect::kind::none);
}

}  // namespace
}  // namespace holdfast::redis
