// SPDX-License-Identifier: Apache-2.0
//
// What /ops decides by itself: the troubles, and the samples of its charts.
#include "commands/serve/ops_series.hpp"
#include "commands/serve/ops_troubles.hpp"

#include <gmock/gmock.h>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ops_room room_of(push::room_figures recent) {
    ops_room room;
    room.state.name = "r";
    room.cooldown = 1s;
    room.counted.recent = recent;
    return room;
}

ops_view view_of(ops_room room) {
    ops_view view;
    view.lock_life = 5s;
    view.rooms.push_back(std::move(room));
    return view;
}

std::vector<std::string> kinds_of(const ops_view& view) {
    std::vector<std::string> out;
    for (const trouble& one : find_troubles(view)) {
        out.push_back(one.kind + " " + std::string(to_string(one.weight)));
    }
    return out;
}

TEST(ops_troubles, a_quiet_service_has_none) {
    EXPECT_THAT(kinds_of(ops_view{}), IsEmpty());
    EXPECT_THAT(kinds_of(view_of(room_of({.messages = 100, .duplicates = 20, .frames = 10}))),
                IsEmpty());
}

TEST(ops_troubles, a_room_whose_messages_are_nearly_all_duplicates_is_one) {
    EXPECT_THAT(kinds_of(view_of(room_of({.messages = 1, .duplicates = 4}))), IsEmpty());
    const auto view = view_of(room_of({.messages = 1, .duplicates = 8}));
    EXPECT_THAT(kinds_of(view), ElementsAre("duplicates warning"));
    EXPECT_THAT(find_troubles(view)[0].text, HasSubstr("8 of 9 messages"));
    EXPECT_THAT(find_troubles(view)[0].fix, HasSubstr("messageId"));
}

TEST(ops_troubles, a_room_always_in_cooldown_is_worse_if_messages_are_dropped) {
    EXPECT_THAT(kinds_of(view_of(room_of({.deferred = 50, .frames = 10}))),
                ElementsAre("cooldown note"));
    EXPECT_THAT(kinds_of(view_of(room_of({.skipped = 50, .frames = 10}))),
                ElementsAre("cooldown warning"));
}

TEST(ops_troubles, a_cooldown_that_is_not_ours_is_broken) {
    ops_room room = room_of({});
    room.state.cooldown_left = 2900ms;
    EXPECT_THAT(kinds_of(view_of(room)), IsEmpty());
    room.state.cooldown_left = 1h;
    EXPECT_THAT(kinds_of(view_of(room)), ElementsAre("cooldown broken"));
    room.state.cooldown_left = 0s;
    room.state.cooldown_endless = true;
    EXPECT_THAT(kinds_of(view_of(room)), ElementsAre("cooldown broken"));
}

TEST(ops_troubles, a_lock_is_one_only_if_messages_wait_for_it) {
    ops_room room = room_of({});
    room.state.locked = true;
    room.state.tail = 7;
    room.state.cursor = 7;
    EXPECT_THAT(kinds_of(view_of(room)), IsEmpty());
    room.state.cursor = 5;
    EXPECT_THAT(kinds_of(view_of(room)), ElementsAre("lock broken"));  // it never expires
    room.state.lock_left = 4s;
    EXPECT_THAT(kinds_of(view_of(room)), IsEmpty());  // a broadcast is under way
    room.stuck = 10s;
    EXPECT_THAT(kinds_of(view_of(room)), ElementsAre("lock broken"));
    EXPECT_THAT(find_troubles(view_of(room))[0].text, HasSubstr("2 messages wait for 10"));
}

TEST(ops_troubles, the_worst_comes_first_and_a_stuck_room_explains_its_queue) {
    ops_view view = view_of(room_of({.messages = 1, .duplicates = 8}));
    view.queue = 3;
    view.queue_stuck = 10s;
    EXPECT_THAT(kinds_of(view), ElementsAre("no_consumer broken", "duplicates warning"));
    view.rooms[0].state.cooldown_endless = true;
    EXPECT_THAT(kinds_of(view), ElementsAre("cooldown broken", "duplicates warning"));
    view.engine_error = "no answer";
    EXPECT_EQ(kinds_of(view).front(), "engine broken");
}

series_values sample_of(std::uint64_t messages, std::uint64_t viewers) {
    series_values out{};
    out[0] = messages;
    out[series_counters] = viewers;
    return out;
}

TEST(ops_series, counters_are_what_was_added_and_gauges_what_there_is) {
    ops_series series(3);
    series.put(sample_of(10, 5));
    series.put(sample_of(14, 6));
    series.put(sample_of(14, 2));
    const auto all = series.read(0);
    EXPECT_EQ(all.next, 2U);
    EXPECT_THAT(all.samples, ElementsAre(sample_of(4, 6), sample_of(0, 2)));
    EXPECT_EQ(series.grown(0, 10), 4U);
    EXPECT_EQ(series.grown(0, 1), 0U);
}

TEST(ops_series, keeps_so_many_and_answers_from_a_number_on) {
    ops_series series(3);
    for (std::uint64_t i = 0; i <= 5; ++i) series.put(sample_of(i, i));
    EXPECT_EQ(series.read(0).samples.size(), 3U);
    EXPECT_EQ(series.read(0).next, 5U);
    EXPECT_EQ(series.read(4).samples.size(), 1U);
    EXPECT_EQ(series.read(5).samples.size(), 0U);
    EXPECT_EQ(series.read(900).samples.size(), 3U);  // of another process
}

}  // namespace
}  // namespace holdfast::app
