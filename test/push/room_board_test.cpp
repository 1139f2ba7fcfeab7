// SPDX-License-Identifier: Apache-2.0
#include <holdfast/push/room_board.hpp>

#include <gtest/gtest.h>

#include <string>

namespace holdfast::push {
namespace {

TEST(room_board, recent_figures_are_those_since_the_last_turn_but_one) {
    room_board board;
    board.add("a", &room_figures::frames, 3);
    EXPECT_EQ(board.find("a").recent.frames, 3U);
    board.turn();
    board.add("a", &room_figures::frames, 2);
    EXPECT_EQ(board.find("a").recent.frames, 5U);
    board.turn();
    EXPECT_EQ(board.find("a").recent.frames, 2U);
    board.turn();
    EXPECT_EQ(board.find("a").recent.frames, 0U);
    EXPECT_EQ(board.find("a").total.frames, 5U);
}

TEST(room_board, forgets_the_room_that_was_counted_longest_ago) {
    room_board board(3);
    for (const char* const room : {"a", "b", "c", "a", "d"}) {
        board.add(room, &room_figures::messages);
    }
    EXPECT_EQ(board.size(), 3U);
    EXPECT_EQ(board.find("b").total.messages, 0U);
    EXPECT_EQ(board.find("a").total.messages, 2U);
    EXPECT_EQ(board.find("d").total.messages, 1U);
}

TEST(room_board, adding_nothing_makes_no_entry) {
    room_board board;
    board.add("a", &room_figures::duplicates, 0);
    EXPECT_EQ(board.size(), 0U);
}

}  // namespace
}  // namespace holdfast::push
