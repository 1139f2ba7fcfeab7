// SPDX-License-Identifier: Apache-2.0
#include "lease/ordered/name_keys.hpp"

#include <gtest/gtest.h>

namespace holdfast::ordered {
namespace {

const name_keys keys("holdfast");

TEST(name_keys, have_the_layout_of_the_go_recipe) {
    EXPECT_EQ(keys.entry("orders/42", "abc"), "holdfast/orders/42/abc");
    const key_range queue = keys.queue("orders/42");
    EXPECT_EQ(queue.first, "holdfast/orders/42/");
    EXPECT_EQ(queue.end, "holdfast/orders/420") << "the key after all that begin so";
}

TEST(name_keys, tell_the_entries_of_a_name_from_those_below_it) {
    EXPECT_EQ(keys.name_of("holdfast/a/0f"), "a");
    EXPECT_EQ(keys.name_of("holdfast/a/b/0f"), "a/b");
    EXPECT_EQ(keys.name_of("holdfast/a//0f"), "a/");
    for (const char* const none : {"holdfast/a/settings", "holdfast/0f", "holdfast", "",
                                   "other/a/0f", "holdfast.evicted/a/0f", "holdfast/a/"}) {
        EXPECT_EQ(keys.name_of(none), std::nullopt) << none;
    }
}

}  // namespace
}  // namespace holdfast::ordered
