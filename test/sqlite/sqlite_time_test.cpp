// SPDX-License-Identifier: Apache-2.0
//
// The time in the database: the machine's own, which does not step.
#include "sqlite/store_on_file.hpp"
#include "support/run_sql.hpp"

#include <holdfast/virtual_clock.hpp>

namespace holdfast::test {
namespace {

class sqlite_time : public on_file {
protected:
    std::uint64_t next_fence(clock& time) {
        const auto store = store_on({.path = path()}, time);
        const auto who = owner();
        const auto reply = ask_of(*store, acquiring("job", who), time);
        if (!is_granted(reply)) return 0;
        static_cast<void>(ask_of(*store, ask::release{named("job"), who, {}}, time));
        return std::get<answer::granted>(*reply).fence.value;
    }
    /// As if the machine had been started anew: the next clock is another one.
    void reboot(const std::string& name = "before") {
        run_sql(path(), "UPDATE holdfast_clock SET boot = '" + name + "' WHERE boot LIKE 'a %'");
    }
};

TEST_F(sqlite_time, fences_go_on_after_a_boot_with_a_clock_that_was_set_back) {
    virtual_clock before;
    before.advance(1000h);
    const auto first = next_fence(before);
    ASSERT_GT(first, 0U);
    before.advance(50s);  // what was granted since the time was last written down
    const auto last = next_fence(before);
    ASSERT_GT(last, first);
    reboot();
    virtual_clock after;
    ASSERT_LT(after.wall(), before.wall());
    EXPECT_GT(next_fence(after), last);
}

TEST_F(sqlite_time, a_lease_from_before_a_boot_ends_by_its_ttl_at_the_latest) {
    virtual_clock before;
    before.advance(1000h);
    ASSERT_TRUE(
        is_granted(ask_of(*store_on({.path = path()}, before), acquiring("job", owner()), before)));
    reboot();
    virtual_clock after;
    const auto store = store_on({.path = path()}, after);
    after.advance(10s);
    EXPECT_TRUE(is_granted(ask_of(*store, acquiring("job", owner()), after)));
}

TEST_F(sqlite_time, all_stores_of_a_boot_see_the_same_time) {
    virtual_clock time;
    const auto one = store_on({.path = path()}, time);
    ASSERT_TRUE(is_granted(ask_of(*one, acquiring("a", owner()), time)));
    run_sql(path(), "UPDATE holdfast_clock SET ahead = ahead + 5000000");  // as the first decided
    const auto two = store_on({.path = path()}, time);
    ASSERT_TRUE(is_granted(ask_of(*two, acquiring("b", owner()), time)));
    EXPECT_EQ(run_sql(path(), "SELECT max(since) - min(since) FROM holdfast_names").at(0),
              "5000000");
}

TEST_F(sqlite_time, only_the_latest_boots_are_remembered) {
    for (int i = 0; i < 20; ++i) {
        virtual_clock time;
        ASSERT_GT(next_fence(time), 0U);
        reboot(std::to_string(i));
    }
    EXPECT_LE(std::stoi(run_sql(path(), "SELECT count(*) FROM holdfast_clock").at(0)), 17);
}

}  // namespace
}  // namespace holdfast::test
