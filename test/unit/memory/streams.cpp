// SPDX-License-Identifier: Apache-2.0
//
// What the differential test cannot ask of a stream: ids that the clock makes, idle times, and
// readers that wait.
#include "engine_fixture.hpp"

#include <thread>

namespace holdfast::memory_test {
namespace {

using namespace std::chrono_literals;

class streams : public engine_test {
protected:
    template <class... Words>
    std::string on_a_session(const Words&... list) {
        const auto session = *engine->open_session("", no_limit);
        const auto c = words(std::string_view(list)...);
        const auto answer = session->execute(c, no_limit);
        return answer ? shown(*answer) : to_string(answer.error());
    }

    void until_asleep(std::size_t count) {
        while (time.waiting() < count) std::this_thread::yield();
    }
};

TEST_F(streams, give_ids_by_the_clock_that_grow_within_a_millisecond) {
    const std::string first = ask("XADD", "s", "*", "f", "1").text();
    const std::string second = ask("XADD", "s", "*", "f", "2").text();
    EXPECT_EQ(first.substr(0, first.find('-')), second.substr(0, second.find('-')));
    EXPECT_TRUE(first.ends_with("-0"));
    EXPECT_TRUE(second.ends_with("-1"));
    time.advance(1ms);
    EXPECT_TRUE(ask("XADD", "s", "*", "f", "3").text().ends_with("-0"));
}

TEST_F(streams, stay_when_they_are_empty_and_remember_their_last_id) {
    ask("XADD", "s", "5-1", "f", "v");
    EXPECT_EQ(say("XDEL", "s", "5-1"), "(integer) 1");
    EXPECT_EQ(say("EXISTS", "s"), "(integer) 1");
    EXPECT_EQ(say("TYPE", "s"), "stream");
    EXPECT_TRUE(ask("XADD", "s", "5-1", "f", "v").is_error());
    EXPECT_EQ(say("XADD", "s", "5-2", "f", "v"), R"("5-2")");
}

TEST_F(streams, wake_all_who_read_and_one_of_each_group) {
    ask("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM");
    std::vector<std::string> got(4);
    std::vector<std::thread> readers;
    for (std::size_t i = 0; i < 2; ++i) {
        readers.emplace_back([&, i] {
            got[i] = on_a_session("XREAD", "BLOCK", "0", "STREAMS", "other", "s", "$", "$");
        });
        until_asleep(i + 1);
    }
    for (std::size_t i = 2; i < 4; ++i) {
        readers.emplace_back([&, i] {
            got[i] = on_a_session("XREADGROUP", "GROUP", "g", i == 2 ? "c1" : "c2", "COUNT", "1",
                                  "BLOCK", "0", "STREAMS", "s", ">");
        });
        until_asleep(i + 1);
    }
    ask("XADD", "s", "1-1", "f", "v");
    const std::string entry = R"([["s", [["1-1", ["f", "v"]]]]])";
    for (std::size_t i = 0; i < 3; ++i) readers[i].join();
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(got[i], entry);
    EXPECT_EQ(say("XPENDING", "s", "g"), R"([(integer) 1, "1-1", "1-1", [["c1", "1"]]])");
    ask("XADD", "s", "1-2", "f", "w");
    readers[3].join();
    EXPECT_EQ(got[3], R"([["s", [["1-2", ["f", "w"]]]]])");
}

TEST_F(streams, let_a_reader_go_when_its_time_is_over) {
    std::string got;
    std::thread reader([&] { got = on_a_session("XREAD", "BLOCK", "250", "STREAMS", "s", "$"); });
    until_asleep(1);
    time.advance(250ms);
    reader.join();
    EXPECT_EQ(got, "(nil)");
}

TEST_F(streams, tell_a_waiting_consumer_that_its_group_is_gone) {
    ask("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM");
    std::string got;
    std::thread reader([&] {
        got = on_a_session("XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "s", ">");
    });
    until_asleep(1);
    ask("XGROUP", "DESTROY", "s", "g");
    reader.join();
    EXPECT_NE(got.find("NOGROUP"), got.npos) << got;
}

TEST_F(streams, claim_what_a_dead_consumer_did_not_acknowledge) {
    ask("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM");
    ask("XADD", "s", "1-1", "f", "a");
    ask("XADD", "s", "1-2", "f", "b");
    ask("XREADGROUP", "GROUP", "g", "dead", "STREAMS", "s", ">");
    time.advance(4999ms);
    EXPECT_EQ(say("XAUTOCLAIM", "s", "g", "next", "5000", "0"), R"(["0-0", [], []])");
    time.advance(1ms);
    ask("XDEL", "s", "1-2");
    EXPECT_EQ(say("XAUTOCLAIM", "s", "g", "next", "5000", "0"),
              R"(["0-0", [["1-1", ["f", "a"]]], ["1-2"]])");
    EXPECT_EQ(say("XPENDING", "s", "g", "-", "+", "10"),
              R"([["1-1", "next", (integer) 0, (integer) 2]])");
    EXPECT_EQ(say("XACK", "s", "g", "1-1"), "(integer) 1");
    EXPECT_EQ(ask("XPENDING", "s", "g").elements()[0].number(), 0);
}

TEST_F(streams, show_a_waiting_reader_all_that_one_script_adds) {
    std::string got;
    std::thread reader([&] { got = on_a_session("XREAD", "BLOCK", "0", "STREAMS", "s", "0"); });
    until_asleep(1);
    ask("EVAL",
        "redis.call('XADD', KEYS[1], '1-1', 'f', 'a') redis.call('XADD', KEYS[1], '1-2', 'f', 'b')",
        "1", "s");
    reader.join();
    EXPECT_EQ(got, R"([["s", [["1-1", ["f", "a"]], ["1-2", ["f", "b"]]]]])");
}

}  // namespace
}  // namespace holdfast::memory_test
