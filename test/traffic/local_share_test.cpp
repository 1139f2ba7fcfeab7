// SPDX-License-Identifier: Apache-2.0
#include "traffic/local_share.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

int allowed_of(local_share& share, int takes, int keys) {
    int allowed = 0;
    for (int i = 0; i < takes; ++i) {
        allowed += share.take("k" + std::to_string(i % keys), 1, time_point(1h)).allowed ? 1 : 0;
    }
    return allowed;
}

TEST(local_share, of_a_small_limit_among_many_is_still_one) {
    for (const std::uint32_t processes : {1U, 291U, 292U, 1'000'000U}) {
        local_share share({{"", fixed_window{.limit = 1, .window = std::chrono::days(366)}}},
                          processes, 100);
        EXPECT_EQ(allowed_of(share, 100, 1), 1) << processes;
    }
}

TEST(local_share, forgets_nobody_who_owes) {
    local_share share({{"", fixed_window{.limit = 10, .window = 1h}}}, 1, 100);
    EXPECT_LE(allowed_of(share, 3000, 150), 10 * 101) << "those without room share one bucket";
    local_share small({{"", fixed_window{.limit = 10, .window = 1h}}}, 1, 0);
    EXPECT_LE(allowed_of(small, 2000, 2), 20);
    EXPECT_TRUE(small.take("new", 1, time_point(3h)).allowed)
        << "there is room when they owe no more";
}

}  // namespace
}  // namespace holdfast::detail
