// SPDX-License-Identifier: Apache-2.0
#include "lease/ordered/entry_text.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::ordered {
namespace {

TEST(entry_text, is_read_as_it_was_written) {
    const queue_entry written{.key = "k",
                              .owner = std::string(32, '7'),
                              .mode = {.type = lease_mode::kind::permit, .permits = 2, .limit = 5},
                              .who = {.host = "build 7", .pid = 4711, .program = "worker"},
                              .since = wall_time(std::chrono::seconds(1'700'000'000)),
                              .note = "migrating shard 7"};
    queue_entry read{.key = "k", .owner = {}};
    read_entry_text(entry_text(written), read);
    EXPECT_EQ(read.owner, written.owner);
    EXPECT_EQ(read.mode, written.mode);
    EXPECT_EQ(read.who, written.who);
    EXPECT_EQ(read.since, written.since);
    EXPECT_EQ(read.note, written.note);
}

TEST(entry_text, keeps_to_its_lines_whatever_a_host_is_called) {
    const queue_entry written{.key = "k",
                              .owner = std::string(32, '7'),
                              .who = {.host = "a\nmode shared", .pid = 1, .program = "p"}};
    queue_entry read{.key = "k", .owner = {}};
    read_entry_text(entry_text(written), read);
    EXPECT_EQ(read.mode, lease_mode{});
    EXPECT_EQ(read.who.host, "a?mode shared");
}

TEST(entry_text, takes_what_is_not_ours_for_another_programs) {
    for (const char* const text :
         {"", "holdfast 1\n", "holdfast 2\nowner 77777777777777777777777777777777\n",
          "holdfast 1\nowner short\nmode shared\n", "anything\nowner x", "\n\n\n",
          "holdfast 1\nmode permit 9999999999 of 3\nowner \n"}) {
        queue_entry read{.key = "k", .owner = {}};
        read_entry_text(text, read);
        EXPECT_TRUE(read.is_foreign()) << text;
        EXPECT_EQ(read.mode, lease_mode{}) << text;
    }
}

TEST(entry_text, skips_lines_of_a_later_version) {
    queue_entry read{.key = "k", .owner = {}};
    read_entry_text("holdfast 1\ncolour blue\nowner " + std::string(32, 'a') + "\nmode shared\n",
                    read);
    EXPECT_FALSE(read.is_foreign());
    EXPECT_EQ(read.mode.type, lease_mode::kind::shared);
}

}  // namespace
}  // namespace holdfast::ordered
