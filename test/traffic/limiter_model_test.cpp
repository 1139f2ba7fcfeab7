// SPDX-License-Identifier: Apache-2.0
//
// Random operations for each rule, on the embedded engine in virtual time.
#include "driver/memory/memory_engine.hpp"
#include "traffic/model_duel.hpp"

#include <holdfast/virtual_clock.hpp>

#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

class limiter_model : public testing::TestWithParam<duel_rule> {};

TEST_P(limiter_model, and_the_embedded_engine_agree_on_every_answer) {
    virtual_clock time;
    seeded_entropy chance(1);
    const std::shared_ptr<command_engine> engine =
        make_memory_engine({.time = &time, .chance = &chance});
    const duel_ground ground{
        .where = command_access(engine, chance),
        .now_us = [&] { return time.wall().time_since_epoch().count(); },
        .advance_us = [&](std::int64_t us) { time.advance(std::chrono::microseconds(us)); },
    };
    fight(ground, GetParam(), 42, operations_or(100'000));
}

INSTANTIATE_TEST_SUITE_P(rules, limiter_model, testing::ValuesIn(duel_rules()),
                         [](const auto& rule) { return rule.param.name; });

}  // namespace
}  // namespace holdfast::test
