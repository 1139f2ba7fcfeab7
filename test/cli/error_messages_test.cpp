// SPDX-License-Identifier: Apache-2.0
//
// What the command line says of an engine in trouble, or of one that is about to be: words only.
#include "error_messages.hpp"
#include "commands/doctor/redis_facts.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

namespace holdfast::app {
namespace {

using testing::HasSubstr;

class redis_judgement : public testing::Test {
protected:
    redis_judgement() {
        facts.where = "db1";
        facts.loopback = true;
        facts.info = parse_info(
            "# Server\r\nredis_version:7.0.15\r\nrole:master\r\n"
            "maxmemory:0\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n"
            "connected_slaves:0\r\n");
        facts.fsync = "always";
        facts.may_do_all = false;
    }

    [[nodiscard]] std::string unsafe() const {
        std::string all;
        for (const finding& one : judge(facts)) {
            if (one.weight == finding::level::unsafe) all += one.about + " ";
        }
        return all;
    }

    redis_facts facts;
};

TEST_F(redis_judgement, finds_nothing_unsafe_on_a_server_that_is_set_up_well) {
    EXPECT_EQ(unsafe(), "");
}

TEST_F(redis_judgement, finds_each_fault_by_itself) {
    const redis_facts good = facts;
    const auto with = [&](std::string_view field, std::string_view value) {
        facts = good;
        facts.info[std::string(field)] = value;
        return unsafe();
    };
    EXPECT_EQ(with("redis_version", "4.0.1"), "version ");
    EXPECT_EQ(with("role", "slave"), "role ");
    EXPECT_EQ(with("aof_enabled", "0"), "persistence ");
    EXPECT_EQ(with("cluster_enabled", "1"), "cluster ");
    facts = good;
    facts.info["maxmemory"] = "1000";
    facts.info["maxmemory_policy"] = "allkeys-lru";
    EXPECT_EQ(unsafe(), "eviction ");
    facts = good;
    facts.loopback = false;
    EXPECT_EQ(unsafe(), "tls ");
    facts.tls = true;
    EXPECT_EQ(unsafe(), "");
    facts.verified = false;
    EXPECT_EQ(unsafe(), "tls ");
    facts.verified = true;
    facts.no_password = true;
    EXPECT_EQ(unsafe(), "access ");
}

TEST_F(redis_judgement, wants_a_master_behind_sentinels_to_stop_when_it_is_cut_off) {
    facts.shape = redis_shape::sentinel;
    facts.quarantine = 30s;
    facts.info["connected_slaves"] = "2";
    EXPECT_EQ(unsafe(), "replicas ");
    facts.info["min_slaves_good_slaves"] = "2";
    EXPECT_EQ(unsafe(), "");
    facts.info.erase("min_slaves_good_slaves");
    facts.replicas = 1;
    EXPECT_EQ(unsafe(), "");
    facts.info["connected_slaves"] = "0";
    EXPECT_EQ(unsafe(), "replicas ");
    facts.info["connected_slaves"] = "2";
    facts.quarantine = 0s;
    EXPECT_EQ(unsafe(), "quarantine ");
}

TEST_F(redis_judgement, wants_a_member_of_a_quorum_to_stand_alone) {
    facts.shape = redis_shape::member;
    EXPECT_EQ(unsafe(), "");
    facts.info["connected_slaves"] = "1";
    EXPECT_EQ(unsafe(), "replicas ");
}

TEST(error_message, says_what_is_wrong_and_what_to_do) {
    const auto plain = [](const std::string& phase) {
        return plain_words("SCAN to db1:6379: redis db1:6379: " + phase +
                           " (after 3 ms); next try in 8 ms (after 3 ms, 0 in flight, 2 queued)");
    };
    EXPECT_EQ(plain("connect: Connection refused"),
              "cannot reach the Redis server at db1:6379 (Connection refused): look whether it "
              "runs, and at the URL");
    EXPECT_EQ(plain("resolve: Name or service not known"),
              "there is no host for db1:6379 (Name or service not known): look at the engine's "
              "URL");
    EXPECT_THAT(plain("handshake: PING: NOAUTH Authentication required."),
                HasSubstr("wants a password"));
    EXPECT_THAT(plain("handshake: AUTH: WRONGPASS invalid (user or password is wrong)"),
                HasSubstr("refuses the user or the password"));
    EXPECT_THAT(plain("handshake: EVAL: NOPERM this user"), HasSubstr("'holdfast doctor'"));
    EXPECT_THAT(plain("handshake: reply: Protocol error, got"), HasSubstr("is no Redis server"));
    EXPECT_THAT(plain("handshake: reply: no answer in time"), HasSubstr("does not answer"));
}

TEST(error_message, says_it_once_for_all_servers_of_a_quorum) {
    const std::string one = "SCAN to {0}: redis {0}: connect: Connection refused (after 0 ms)";
    const auto of = [&](const std::string& place) {
        return place + ": " + fmt::format(fmt::runtime(one), place);
    };
    EXPECT_EQ(plain_words("list: 0 of 2 answered: " + of("a:1") + "; " + of("b:2")),
              "too few servers answered: a:1, b:2 did not (Connection refused); try "
              "'holdfast doctor'");
    EXPECT_EQ(plain_words("'n': 0 of 2 granted: a:1 unavailable, b:2 unavailable; " + of("a:1")),
              "'n': 0 of 2 granted: a:1 unavailable, b:2 unavailable; try "
              "'holdfast doctor'");
}

TEST(error_message, of_another_programs_value_is_told_without_the_script) {
    EXPECT_EQ(plain_words("WRONGTYPE Operation against a key holding the wrong kind of value "
                          "script: d39, on @user_script:1. (the key holds another kind of value)"),
              "another program keeps a value of another kind there, and it was not touched: use "
              "another name");
}

TEST(error_message, does_not_send_a_doctor_to_itself) {
    EXPECT_EQ(doctors_words("SCAN to db1:6379: redis db1:6379: handshake: EVAL: NOPERM this user"),
              "the Redis server at db1:6379 does not let this user do what it must (EVAL: NOPERM "
              "this user)");
}

TEST(error_message, of_a_file_is_told_without_sqlites_own_words) {
    EXPECT_EQ(plain_words("sqlite:/a (b)/c: the disk is full; nothing was done (SQLite, writing: "
                          "disk I/O error, code 778, No space left on device)"),
              "sqlite:/a (b)/c: the disk is full; nothing was done");
    EXPECT_EQ(plain_words("sqlite:/a: no permission (SQLite, opening: near \")\": x, code 14)"),
              "sqlite:/a: no permission");
}

TEST(error_message, leaves_alone_what_is_a_sentence_already) {
    EXPECT_EQ(plain_words("'a' is busy"), "'a' is busy");
    EXPECT_EQ(plain_words("GET to db1:6379: reply: no answer in time (after 9 ms, 1 in flight, 0 "
                          "queued)"),
              "the Redis server at db1:6379 did not answer: reply: no answer in time");
}

}  // namespace
}  // namespace holdfast::app
