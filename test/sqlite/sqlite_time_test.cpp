// SPDX-License-Identifier: Apache-2.0
//
// The time in the database: the machine's own, which does not step.
#include "sqlite/store_on_file.hpp"
#include "support/run_sql.hpp"

#include <holdfast/virtual_clock.hpp>

#include <gmock/gmock.h>

#include <fstream>

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

TEST_F(sqlite_time, only_the_latest_boot_is_remembered) {
    for (int i = 0; i < 3; ++i) {
        virtual_clock time;
        ASSERT_GT(next_fence(time), 0U);
        reboot(std::to_string(i));
    }
    EXPECT_EQ(run_sql(path(), "SELECT count(*) FROM holdfast_clock").at(0), "1");
}

/// A machine whose clocks a test sets.
class told_machine final : public clock {
public:
    explicit told_machine(duration uptime, duration day = 20'000h) : uptime_(uptime), day_(day) {}
    [[nodiscard]] time_point now() const noexcept override { return time_point(uptime_); }
    [[nodiscard]] wall_time wall() const noexcept override {
        return wall_time(std::chrono::floor<std::chrono::microseconds>(day_));
    }
    void wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, time_point) override {}
    void pass(duration by) { uptime_ += by, day_ += by; }
    void go_back(duration by) { uptime_ -= by; }

private:
    duration uptime_;
    duration day_;
};

TEST_F(sqlite_time, a_fence_does_not_go_back_if_a_boot_id_repeats) {
    told_machine before(100'000s);
    const auto last = next_fence(before);
    ASSERT_GT(last, 0U);
    told_machine after(10s, 19'000h);  // and the time of day was set back, too
    EXPECT_GT(next_fence(after), last);
}

TEST_F(sqlite_time, a_fence_does_not_go_back_if_a_boot_id_and_nearly_its_uptime_repeat) {
    told_machine before(30s);
    ASSERT_GT(next_fence(before), 0U);
    before.pass(4s);  // within the pause between two notes
    const auto last = next_fence(before);
    told_machine after(31s, 20'001h);
    EXPECT_GT(next_fence(after), last);
}

/// Machines, or containers, by their boot ids.
class sqlite_boots : public sqlite_time {
protected:
    sqlite::sqlite_options booted_as(const std::string& id) {
        const std::string file = path(("boot-" + id).c_str());
        std::ofstream(file) << id << '\n';
        return {.path = path(), .boot_id_file = file};
    }
};

TEST_F(sqlite_boots, processes_with_different_ids_exclude_each_other_and_share_one_time) {
    told_machine time(1000s);
    const auto a = store_on(booted_as("aa"), time);
    const auto held = ask_of(*a, acquiring("job", owner()), time);
    ASSERT_TRUE(is_granted(held));
    time.pass(9s);
    const auto b = store_on(booted_as("bb"), time);
    EXPECT_FALSE(is_granted(ask_of(*b, acquiring("job", owner()), time)));
    time.pass(2s);
    const auto next = ask_of(*b, acquiring("job", owner()), time);
    ASSERT_TRUE(is_granted(next)) << "not before its time, and not after";
    EXPECT_GT(std::get<answer::granted>(*next).fence.value,
              std::get<answer::granted>(*held).fence.value);
    EXPECT_FALSE(is_granted(ask_of(*a, acquiring("job", owner()), time)));
}

TEST_F(sqlite_boots, a_lease_whose_process_has_ended_lasts_its_ttl_beside_another_id) {
    told_machine time(1000s);
    ASSERT_TRUE(
        is_granted(ask_of(*store_on(booted_as("aa"), time), acquiring("job", owner()), time)));
    const auto b = store_on(booted_as("bb"), time);
    time.pass(9s);
    EXPECT_FALSE(is_granted(ask_of(*b, acquiring("job", owner()), time)));
    time.pass(2s);
    EXPECT_TRUE(is_granted(ask_of(*b, acquiring("job", owner()), time)));
}

TEST_F(sqlite_boots, a_waiter_and_a_key_keep_their_time_beside_another_id) {
    told_machine time(1000s);
    const owner_token first = owner();
    const auto second = owner();
    {
        const auto a = store_on(booted_as("aa"), time);
        ASSERT_TRUE(
            is_granted(ask_of(*a, acquiring("job", first, {lease_mode::kind::shared}), time)));
        ASSERT_TRUE(
            is_granted(ask_of(*a, acquiring("job", second, {lease_mode::kind::shared}), time)));
        run_sql(path(),
                "INSERT INTO holdfast_keys SELECT 'k', '', (seen + 10000000) / 1000, 1 "
                "FROM holdfast_clock");
    }
    const auto before = std::stoll(run_sql(path(), "SELECT expires_ms FROM holdfast_keys").at(0));
    const auto seen = std::stoll(run_sql(path(), "SELECT seen FROM holdfast_clock").at(0));
    const auto b = store_on(booted_as("bb"), time);
    time.pass(9s);
    EXPECT_FALSE(is_granted(ask_of(*b, acquiring("job", owner()), time)));
    EXPECT_TRUE(ask_of(*b, ask::renew{named("job"), first, {lease_mode::kind::shared}, 10s}, time));
    const auto leap = std::stoll(run_sql(path(), "SELECT seen FROM holdfast_clock").at(0)) - seen;
    ASSERT_GT(leap, 9'000'000) << "or nothing was tried";
    EXPECT_EQ(std::stoll(run_sql(path(), "SELECT expires_ms FROM holdfast_keys").at(0)) - before,
              leap / 1000 - 9000);
}

TEST_F(sqlite_boots, a_clock_behind_that_of_others_is_refused_until_they_have_gone) {
    told_machine time(1000s);
    auto a = store_on(booted_as("aa"), time);
    ASSERT_TRUE(is_granted(ask_of(*a, acquiring("job", owner()), time)));
    told_machine behind(400s);
    const auto b = store_on(booted_as("aa"), behind);
    const auto refused = ask_of(*b, acquiring("other", owner()), behind);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), errc::unsupported);
    EXPECT_THAT(refused.error().detail, testing::HasSubstr("600 s ahead of this process's"));
    a.reset();
    EXPECT_TRUE(is_granted(ask_of(*b, acquiring("other", owner()), behind)));
}

TEST_F(sqlite_boots, a_clock_that_goes_back_while_it_is_used_is_noticed) {
    told_machine time(1000s);
    const auto store = store_on(booted_as("aa"), time);
    std::uint64_t last = 0;
    const auto grant = [&] {
        const auto reply = ask_of(*store, acquiring("job " + std::to_string(last), owner()), time);
        if (!is_granted(reply)) return false;
        const std::uint64_t fence = std::get<answer::granted>(*reply).fence.value;
        EXPECT_GT(fence, last);
        last = fence;
        return true;
    };
    ASSERT_TRUE(grant());
    time.pass(10s);
    ASSERT_TRUE(grant());
    time.go_back(600s);  // a virtual machine that was set back to an earlier state
    time.pass(6s);
    EXPECT_FALSE(grant()) << "unavailable, once";
    EXPECT_TRUE(grant()) << "opened anew, past all times that it had";
}

TEST_F(sqlite_boots, an_id_that_cannot_be_read_is_refused_by_a_sentence) {
    for (const char* text : {"", "no id'; DROP TABLE holdfast_names", "\n"}) {
        std::ofstream(path("boot")) << text;
        const auto store = store_on({.path = path(), .boot_id_file = path("boot")});
        const auto reply = ask_of(*store, acquiring("job", owner()));
        ASSERT_FALSE(reply);
        EXPECT_EQ(reply.error(), errc::unsupported);
        EXPECT_THAT(reply.error().detail, testing::HasSubstr("cannot be read, so processes of this "
                                                             "boot cannot be told from"));
    }
    EXPECT_FALSE(std::filesystem::exists(path()));
}

}  // namespace
}  // namespace holdfast::test
