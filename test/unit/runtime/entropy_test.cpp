// SPDX-License-Identifier: Apache-2.0
#include <holdfast/entropy.hpp>

#include <gtest/gtest.h>

#include <array>

namespace holdfast {
namespace {

TEST(seeded_entropy, repeats_itself_for_the_same_seed) {
    std::array<std::byte, 33> first{};
    std::array<std::byte, 33> second{};
    std::array<std::byte, 33> other{};
    seeded_entropy(5).fill(first);
    seeded_entropy(5).fill(second);
    seeded_entropy(6).fill(other);
    EXPECT_EQ(first, second);
    EXPECT_NE(first, other);
}

TEST(entropy, draws_below_a_bound_and_reaches_every_value) {
    seeded_entropy chance(1);
    std::array<int, 6> seen{};
    for (int i = 0; i < 6000; ++i) ++seen.at(chance.below(6));
    for (const int count : seen) EXPECT_GT(count, 800);
}

TEST(system_entropy, does_not_repeat) {
    std::array<std::byte, 16> first{};
    std::array<std::byte, 16> second{};
    system_entropy().fill(first);
    system_entropy().fill(second);
    EXPECT_NE(first, second);
}

}  // namespace
}  // namespace holdfast
