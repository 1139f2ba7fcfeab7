// SPDX-License-Identifier: Apache-2.0
#include "lease/ordered/queue_order.hpp"
#include "lease/ordered/queue_report.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace holdfast::ordered {
namespace {

using kind = lease_mode::kind;

constexpr lease_mode exclusive{};
constexpr lease_mode sharing{.type = kind::shared};

lease_mode permits(std::uint32_t some, std::uint32_t of) {
    return {.type = kind::permit, .permits = some, .limit = of};
}

std::string owner_text(std::size_t place) {
    return std::string(31, 'a') + static_cast<char>('0' + static_cast<char>(place));
}

queue_order queue_of(const std::vector<lease_mode>& modes) {
    std::vector<queue_entry> entries;
    for (std::size_t i = 0; i < modes.size(); ++i) {
        entries.push_back({.key = "k" + std::to_string(i),
                           .owner = owner_text(i),
                           .mode = modes[i],
                           .position = 10 + i});
    }
    std::ranges::reverse(entries);  // an answer may come in any order
    return queue_order(std::move(entries));
}

std::string holders_of(const queue_order& queue) {
    std::string text;
    for (const queue_entry& one : queue.entries()) text += queue.holds(one) ? 'h' : 'w';
    return text;
}

std::string blocker_key(const queue_order& queue, std::size_t place) {
    const queue_entry* const found = queue.blocker_of(queue.entries()[place]);
    return found == nullptr ? "" : found->key;
}

TEST(queue_order, lets_one_writer_in_and_readers_that_stand_in_a_row) {
    EXPECT_EQ(holders_of(queue_of({exclusive, exclusive, exclusive})), "hww");
    EXPECT_EQ(holders_of(queue_of({sharing, sharing, exclusive, sharing})), "hhww");
    EXPECT_EQ(holders_of(queue_of({exclusive, sharing, sharing})), "hww");
}

TEST(queue_order, lets_in_as_many_permits_as_there_are_and_nobody_before_one_that_wants_many) {
    EXPECT_EQ(holders_of(queue_of({permits(1, 3), permits(2, 3), permits(1, 3)})), "hhw");
    EXPECT_EQ(holders_of(queue_of({permits(1, 3), permits(3, 3), permits(1, 3)})), "hww");
    const std::uint32_t most = 0xffff'ffff;
    EXPECT_EQ(holders_of(queue_of({permits(most, most), permits(most, most)})), "hw")
        << "sums do not wrap";
}

TEST(queue_order, watches_the_one_entry_that_has_to_go) {
    const auto writers = queue_of({exclusive, exclusive, exclusive});
    EXPECT_EQ(blocker_key(writers, 1), "k0");
    EXPECT_EQ(blocker_key(writers, 2), "k1");
    const auto mixed = queue_of({sharing, exclusive, sharing, sharing, exclusive});
    EXPECT_EQ(blocker_key(mixed, 1), "k0");
    EXPECT_EQ(blocker_key(mixed, 2), "k1");
    EXPECT_EQ(blocker_key(mixed, 3), "k1") << "both readers wait for the writer";
    EXPECT_EQ(blocker_key(mixed, 4), "k3");
    EXPECT_EQ(blocker_key(queue_of({permits(1, 1), permits(1, 1)}), 1), "") << "any may make room";
}

TEST(queue_order, counts_waiters_and_knows_the_latest_fence) {
    const auto queue = queue_of({sharing, sharing, exclusive, sharing});
    EXPECT_EQ(queue.waiters_before(nullptr), 2U);
    EXPECT_EQ(queue.waiters_before(&queue.entries()[3]), 1U);
    EXPECT_EQ(queue.latest_fence(), queue.entries()[1].fence());
    EXPECT_GT(queue.entries()[1].fence().value, queue.entries()[0].fence().value + 100)
        << "room for those that are passed on inside a client";
    EXPECT_FALSE(queue.has_room_for(sharing));
    EXPECT_TRUE(queue_of({sharing}).has_room_for(sharing));
}

TEST(queue_order, takes_the_lock_of_another_program_for_an_exclusive_one) {
    std::vector<queue_entry> entries{{.key = "theirs", .owner = "", .position = 3}};
    const queue_order queue(entries);
    EXPECT_FALSE(queue.has_room_for(sharing));
    EXPECT_FALSE(queue.has_room_for(permits(1, 9)));
    const auto info =
        describe("job", queue, [](std::int64_t) { return std::nullopt; }, with_queue::yes);
    ASSERT_EQ(info.holders.size(), 1U);
    EXPECT_EQ(info.holders[0].client, "");
}

// A waiter is not thrown out by one that stands behind it.
TEST(queue_order, refuses_the_one_that_came_later_with_another_kind) {
    const auto asks = [](std::size_t place, const lease_mode& mode) {
        return ask::acquire{lock_name::make("job").value(),
                            owner_token::parse(owner_text(place)).value(),
                            mode,
                            std::chrono::seconds(1),
                            ask::when_busy::refuse,
                            {}};
    };
    const auto queue = queue_of({permits(1, 1), permits(1, 1), exclusive, permits(1, 1)});
    EXPECT_FALSE(queue.unfit(asks(0, permits(1, 1))));
    EXPECT_FALSE(queue.unfit(asks(1, permits(1, 1)))) << "the mutex stands behind it";
    EXPECT_TRUE(queue.unfit(asks(2, exclusive)));
    EXPECT_TRUE(queue.unfit(asks(3, permits(1, 1))));
    EXPECT_TRUE(queue.unfit(asks(7, exclusive))) << "all stand before one that is not there";
    EXPECT_TRUE(queue.unfit(asks(0, exclusive))) << "its own entry is of the other kind";
}

// Whoever held the name holds it still, whatever goes or comes: the proof needs nothing else.
TEST(queue_order, never_takes_the_name_from_one_that_holds_it) {
    std::mt19937 chance(7);  // style: allow chance, because a seed must do the same again
    for (int round = 0; round < 300; ++round) {
        std::vector<queue_entry> entries;
        std::vector<std::string> held;
        const bool counts = chance() % 2 == 0;
        for (std::uint64_t step = 1; step < 30; ++step) {
            if (chance() % 3 == 0 && !entries.empty()) {
                const auto gone =
                    entries.begin() + static_cast<std::ptrdiff_t>(chance() % entries.size());
                std::erase(held, gone->key);
                entries.erase(gone);
            } else {
                const lease_mode mode =
                    counts              ? permits(static_cast<std::uint32_t>(1 + chance() % 3), 3)
                    : chance() % 2 == 0 ? sharing
                                        : exclusive;
                entries.push_back(
                    {.key = std::to_string(step), .owner = "o", .mode = mode, .position = step});
            }
            const queue_order queue(entries);
            std::vector<std::string> now;
            std::uint32_t taken = 0;
            bool writer = false;
            for (const queue_entry& one : queue.entries()) {
                if (!queue.holds(one)) continue;
                now.push_back(one.key);
                taken += one.mode.permits;
                writer = writer || one.mode.type == kind::exclusive;
            }
            for (const std::string& key : held) EXPECT_THAT(now, testing::Contains(key));
            EXPECT_TRUE(!writer || now.size() == 1);
            EXPECT_TRUE(!counts || taken <= 3);
            EXPECT_EQ(now.empty(), entries.empty()) << "somebody always holds it";
            held = now;
        }
    }
}

}  // namespace
}  // namespace holdfast::ordered
