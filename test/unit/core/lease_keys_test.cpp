// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/lease_keys.hpp"
#include "core/hash_slot.hpp"
#include "lease/commands/client_label.hpp"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

// Slots as a Redis 7 answers CLUSTER KEYSLOT.
TEST(hash_slot, is_the_one_redis_cluster_computes) {
    EXPECT_EQ(hash_slot("foo"), 12182U);
    EXPECT_EQ(hash_slot("{user1000}.following"), hash_slot("{user1000}.followers"));
    EXPECT_EQ(hash_slot("foo{{bar}}zap"), hash_slot("{bar"));
    EXPECT_EQ(hash_slot("{}a"), 10875U);
    EXPECT_EQ(hash_slot("{}b"), 6680U);
}

TEST(lease_keys, are_the_plain_name_and_what_stands_beside_it) {
    detail::text_arena room;
    const auto keys = keys_of(room, "lock:", *lock_name::make("orders/42"), key_scope::server);
    EXPECT_EQ(keys.lock, "lock:orders/42");
    EXPECT_EQ(keys.line, "{lock:orders/42}:line");
    EXPECT_EQ(keys.waiters, "{lock:orders/42}:waiters");
    EXPECT_EQ(keys.holders, "{lock:orders/42}:holders");
    EXPECT_EQ(keys.limit, "{lock:orders/42}:limit");
    EXPECT_EQ(keys.evicted, "{lock:orders/42}:evicted");
    EXPECT_EQ(keys.fence, "holdfast:fence");
    EXPECT_EQ(keys.boot, "holdfast:boot");
}

TEST(lease_keys, are_in_one_slot_whatever_braces_the_name_has) {
    for (const auto* name :
         {"a", "a{b}c", "{a}", "a}b", "{}a", "a{}b", "}{", "{", "}", "{{a}}", "a{b"}) {
        detail::text_arena room;
        const auto keys = keys_of(room, "lock:", *lock_name::make(name), key_scope::slot);
        EXPECT_EQ(hash_slot(keys.lock), hash_slot(keys.line)) << name;
        EXPECT_EQ(hash_slot(keys.lock), hash_slot(keys.waiters)) << name;
        EXPECT_EQ(hash_slot(keys.lock), hash_slot(keys.holders)) << name;
        EXPECT_EQ(hash_slot(keys.lock), hash_slot(keys.limit)) << name;
        EXPECT_EQ(hash_slot(keys.lock), hash_slot(keys.evicted)) << name;
        EXPECT_TRUE(is_side_key(keys.evicted));
        const auto place = waiter_key(room, keys.waiters, "0123456789abcdef0123456789abcdef");
        EXPECT_EQ(hash_slot(keys.lock), hash_slot(place)) << name;
        EXPECT_TRUE(is_side_key(place));
        EXPECT_EQ(hash_slot(keys.lock), hash_slot(keys.fence)) << name;
        EXPECT_EQ(hash_slot(keys.lock), hash_slot(keys.boot)) << name;
        EXPECT_TRUE(is_shared_key(keys.fence) && is_shared_key(keys.boot));
        EXPECT_FALSE(is_shared_key(keys.lock));
    }
}

TEST(lease_keys, beside_a_lock_are_told_from_names_that_only_look_a_little_like_them) {
    for (const auto* name : {"{tenant}:waiters-queue", "{a}:waiters:job", "waiters", "{a}:lines",
                             "{a}0123456789abcdef0123456789abcdef"}) {
        EXPECT_FALSE(is_side_key(name)) << name;
    }
}

TEST(label_writer, is_a_text_that_can_be_taken_apart_again) {
    EXPECT_TRUE(is_shared_key(label_writer::key_of("0123456789ab")));
    const auto who = label_writer::parse("4711 web-3 my server");
    EXPECT_EQ(who.pid, 4711);
    EXPECT_EQ(who.host, "web-3");
    EXPECT_EQ(who.program, "my server");
    for (const auto* text : {"", "1", "1 host", "x host program", "1x host program"}) {
        EXPECT_EQ(label_writer::parse(text), client_label{}) << text;
    }
}

}  // namespace
}  // namespace holdfast
