// SPDX-License-Identifier: Apache-2.0
#include <holdfast/entropy.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

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

TEST(system_entropy, does_not_repeat_over_many_small_and_large_draws) {
    std::set<std::array<std::byte, 16>> seen;
    for (int i = 0; i < 1000; ++i) {
        std::array<std::byte, 16> small{};
        std::array<std::byte, 500> large{};
        system_entropy().fill(small);
        system_entropy().fill(large);
        EXPECT_TRUE(seen.insert(small).second);
        std::copy_n(large.end() - 16, 16, small.begin());
        EXPECT_TRUE(seen.insert(small).second);
    }
}

TEST(system_entropy, is_not_the_same_in_a_child_of_fork) {
    std::array<std::byte, 16> drawn{};
    system_entropy().fill(drawn);  // from here on bytes may be waiting in memory
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        system_entropy().fill(drawn);
        ::_exit(::write(pipe[1], drawn.data(), drawn.size()) == 16 ? 0 : 1);
    }
    std::array<std::byte, 16> childs{};
    EXPECT_EQ(::read(pipe[0], childs.data(), childs.size()), 16);
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    system_entropy().fill(drawn);
    EXPECT_NE(drawn, childs);
    ::close(pipe[0]);
    ::close(pipe[1]);
}

}  // namespace
}  // namespace holdfast
