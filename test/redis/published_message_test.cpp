// SPDX-License-Identifier: Apache-2.0
//
// What was published, read without a reply_reader: the same, or nothing.
#include "driver/redis/published_message.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::redis {
namespace {

const std::string greeting = "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\na\r\nb!\r\n";

TEST(lone_message, is_a_published_message_and_nothing_else) {
    const auto found = lone_message(greeting);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->scope, channel_scope::global);
    EXPECT_EQ(found->channel, "news");
    EXPECT_EQ(found->text, "a\r\nb!");
}

TEST(lone_message, may_be_sharded_and_empty) {
    const auto found = lone_message("*3\r\n$8\r\nsmessage\r\n$0\r\n\r\n$0\r\n\r\n");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->scope, channel_scope::sharded);
    EXPECT_EQ(found->channel, "");
    EXPECT_EQ(found->text, "");
}

TEST(lone_message, is_not_a_part_of_one) {
    for (std::size_t size = 0; size < greeting.size(); ++size) {
        EXPECT_FALSE(lone_message(greeting.substr(0, size))) << size;
    }
}

TEST(lone_message, is_not_one_with_something_behind_it) {
    EXPECT_FALSE(lone_message(greeting + "*"));
    EXPECT_FALSE(lone_message(greeting + greeting));
}

TEST(lone_message, is_no_other_reply) {
    for (const char* other : {
             "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n",
             "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n:1\r\n",
             "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$-1\r\n",
             "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$4\r\nab\r\n",
             "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$2\r\nabcd\r\n",
             "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$18446744073709551615\r\nab\r\n",
             "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$99999999999999999999\r\nab\r\n",
             "*3\r\n$7\r\nmessage\r\n$\r\nnews\r\n$2\r\nab\r\n",
             "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$02\r\nab\r\n",
             "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$+2\r\nab\r\n",
             "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$00\r\n\r\n",
             "*2\r\n$7\r\nmessage\r\n$4\r\nnews\r\n",
             "*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$4\r\nnews\r\n$2\r\nab\r\n",
             "-MOVED 1 127.0.0.1:1\r\n",
         }) {
        EXPECT_FALSE(lone_message(other)) << other;
    }
}

}  // namespace
}  // namespace holdfast::redis
