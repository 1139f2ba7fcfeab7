// SPDX-License-Identifier: Apache-2.0
//
// Random operations on the limit of those at work, on the embedded engine in virtual time, and on a
// model that is a list of ends.
#include "driver/memory/memory_engine.hpp"
#include "traffic/model_duel.hpp"

#include <holdfast/concurrency_limiter.hpp>
#include <holdfast/virtual_clock.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t permits = 5;
constexpr duration ttl = 10s;

/// When each permit of one key runs out, in microseconds of the server.
struct permit_model {
    std::vector<std::int64_t> ends;

    void pass(std::int64_t now) {
        std::erase_if(ends, [&](std::int64_t end) { return end <= now; });
    }
    bool take_out(std::int64_t end) {
        const auto found = std::ranges::find(ends, end);
        if (found == ends.end()) return false;
        ends.erase(found);
        return true;
    }
};

struct worker {
    permit held;
    std::int64_t end;
};

TEST(permit_model, and_the_embedded_engine_agree_on_every_answer) {
    virtual_clock time;
    seeded_entropy chance(1);
    const std::shared_ptr<command_engine> engine =
        make_memory_engine({.time = &time, .chance = &chance});
    concurrency_limiter limiter(command_access(engine, chance), {.permits = permits, .ttl = ttl});
    seeded_entropy draw(42);
    const auto below = [&](std::uint64_t n) { return draw.below(n); };
    const auto now = [&] { return time.wall().time_since_epoch().count(); };
    permit_model model;
    std::vector<worker> at_work;
    const std::int64_t life = ttl / 1us;
    const std::uint64_t operations = operations_or(100'000);
    for (std::uint64_t step = 0; step < operations; ++step) {
        // Mostly less than a permit lasts; so that no two end in the same microsecond, never 0.
        const std::uint64_t most = below(20) == 0 ? 12'000'000 : 900'000;
        time.advance(std::chrono::microseconds(static_cast<std::int64_t>(1 + below(most))));
        model.pass(now());
        const std::uint64_t choice = below(10);
        if (choice < 5 || at_work.empty()) {
            auto got = limiter.enter("job").value();
            const bool room = model.ends.size() < permits;
            ASSERT_EQ(got.answer.allowed, room) << "step " << step;
            ASSERT_EQ(got.held.has_value(), room) << "step " << step;
            if (room) {
                model.ends.push_back(now() + life);
                at_work.push_back({std::move(*got.held), now() + life});
            } else {
                const std::int64_t first = std::ranges::min(model.ends) - now();
                ASSERT_EQ(got.answer.retry_after / 1us, first) << "step " << step;
            }
            ASSERT_EQ(got.answer.remaining, permits - model.ends.size()) << "step " << step;
            continue;
        }
        worker& one = at_work[below(at_work.size())];
        const bool out = std::ranges::find(model.ends, one.end) != model.ends.end();
        ASSERT_TRUE(out || !one.held.held()) << "step " << step << ": it believes too long";
        if (choice < 7) {
            ASSERT_EQ(one.held.renew().has_value(), out) << "step " << step;
            if (out && model.take_out(one.end)) {
                one.end = now() + life;
                model.ends.push_back(one.end);
            }
            continue;
        }
        const bool believed = one.held.held();  // some milliseconds less than it is out
        ASSERT_EQ(std::move(one.held).release().has_value(), believed) << "step " << step;
        model.take_out(one.end);
        std::swap(one, at_work.back());
        at_work.pop_back();
    }
    EXPECT_LE(model.ends.size(), permits);
}

}  // namespace
}  // namespace holdfast::test
