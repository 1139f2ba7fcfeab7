// SPDX-License-Identifier: Apache-2.0
#include "core/release_machine.hpp"

#include <gtest/gtest.h>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

constexpr time_point release_start{1h};

class release_machine_test : public testing::Test {
protected:
    static release_machine machine(bool in_time = true) {
        return release_machine(
            {.request = {lock_name::make("job").value(), owner_token::draw(system_entropy()), {}},
             .in_time = in_time,
             .give_up = release_start + 3s});
    }
    static const release_machine::finish& finished(const release_machine::action& next) {
        return std::get<release_machine::finish>(next);
    }
    const result<lease_reply> yes = answer::released{};
    const result<lease_reply> no = answer::lost{};
    const result<lease_reply> unknown = fail(errc::outcome_unknown, "no answer");
};

TEST_F(release_machine_test, one_answer_settles_it) {
    auto m = machine();
    const auto first = m.start();
    EXPECT_TRUE(
        std::holds_alternative<ask::release>(*std::get<release_machine::send>(first).request));
    EXPECT_TRUE(finished(m.on_reply(yes, release_start)).outcome);
}

TEST_F(release_machine_test, what_the_engine_no_longer_knew_was_lost) {
    auto m = machine();
    static_cast<void>(m.start());
    EXPECT_EQ(finished(m.on_reply(no, release_start)).outcome.error(), errc::lease_lost);
}

TEST_F(release_machine_test, what_was_taken_away_is_lost_with_the_reason) {
    auto m = machine();
    static_cast<void>(m.start());
    const auto end = m.on_reply(answer::lost{"make room"}, release_start);
    EXPECT_EQ(finished(end).outcome.error(), errc::lease_lost);
    EXPECT_NE(finished(end).outcome.error().detail.find("make room"), std::string::npos);
    EXPECT_EQ(finished(end).evicted, "make room");
}

TEST_F(release_machine_test, what_was_past_its_deadline_was_lost_although_the_engine_released_it) {
    auto m = machine(false);
    static_cast<void>(m.start());
    EXPECT_EQ(finished(m.on_reply(yes, release_start)).outcome.error(), errc::lease_lost);
}

TEST_F(release_machine_test, not_yours_after_a_lost_answer_means_that_the_first_one_worked) {
    auto m = machine();
    static_cast<void>(m.start());
    ASSERT_TRUE(std::holds_alternative<release_machine::send>(m.on_reply(unknown, release_start)));
    EXPECT_TRUE(finished(m.on_reply(no, release_start + 1s)).outcome);
}

TEST_F(release_machine_test, what_stays_unknown_goes_on_in_the_background) {
    auto m = machine();
    static_cast<void>(m.start());
    static_cast<void>(m.on_reply(unknown, release_start));
    const auto end = m.on_reply(unknown, release_start + 1s);
    EXPECT_EQ(finished(end).outcome.error(), errc::outcome_unknown);
    EXPECT_TRUE(finished(end).leftover);
    auto late = machine();
    static_cast<void>(late.start());
    EXPECT_TRUE(finished(late.on_reply(unknown, release_start + 3s)).leftover)
        << "no time to ask again";
}

}  // namespace
}  // namespace holdfast::detail
