// SPDX-License-Identifier: Apache-2.0
#include "core/require.hpp"

#include <holdfast/client_statistics.hpp>
#include <holdfast/engine/reply.hpp>
#include <holdfast/entropy.hpp>
#include <holdfast/virtual_clock.hpp>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

// A broken contract ends the program; each death is a process of its own.
TEST(require, ends_the_program_and_names_the_contract_that_was_broken) {
    detail::require(true, "all is well");
    EXPECT_DEATH(detail::require(false, "two is even"), "a contract was broken: two is even");
}

TEST(require, is_on_in_every_build_at_the_public_contracts) {
    EXPECT_DEATH(static_cast<void>(system_entropy().below(0)), "bound > 0");
    EXPECT_DEATH(virtual_clock().advance(duration(-1)), "by >= 0");
    EXPECT_DEATH(static_cast<void>(to_error(reply::integer(1))), "is_error");
    EXPECT_DEATH(static_cast<void>(duration_histogram().percentile(1.5)), "share");
}

}  // namespace
}  // namespace holdfast
