// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/memory_engine.hpp"

#include <holdfast/virtual_clock.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

/// An embedded engine on virtual time, spoken to in words.
namespace holdfast::memory_test {

constexpr time_point no_limit = time_point::max();

class engine_test : public ::testing::Test {
protected:
    /// The reply to one command, as to_string shows it: `"a"`, `(integer) 1`, `(error) ERR …`.
    template <class... Words>
    std::string say(const Words&... list) {
        return shown(ask(list...));
    }

    template <class... Words>
    reply ask(const Words&... list) {
        const auto c = words(std::string_view(list)...);
        const command one = c;
        result<reply> answer;
        engine->exchange({&one, 1}, {&answer, 1}, no_limit);
        return answer ? *answer : reply::error(to_string(answer.error()));
    }

    static std::string shown(const reply& r) { return to_string(r); }

    virtual_clock time;
    seeded_entropy chance{42};
    std::shared_ptr<memory_engine> engine = make_memory_engine({.time = &time, .chance = &chance});
};

}  // namespace holdfast::memory_test
