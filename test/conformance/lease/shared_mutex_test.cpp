// SPDX-License-Identifier: Apache-2.0
//
// Readers and writers as users see them.
#include "conformance/lease/interposed_store.hpp"
#include "conformance/lease/mutex_fixture.hpp"

#include <holdfast/prometheus.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <shared_mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class shared_promise : public mutex_case {
protected:
    void SetUp() override {
        if (!one.can().shared) GTEST_SKIP() << "allowed: this engine has no shared leases";
    }
    lease read(client& who) { return who.shared_mutex("job").acquire_shared(options()).value(); }
    lease write(client& who) { return who.shared_mutex("job").acquire(options()).value(); }
    bool readable(client& who) {
        auto got = who.shared_mutex("job").try_acquire_shared(options());
        return got && std::move(*got).release();
    }
};

TEST_P(shared_promise, readers_hold_together_and_a_writer_alone) {
    auto first = read(one);
    auto second = read(two);
    EXPECT_EQ(first.mode().type, lease_mode::kind::shared);
    EXPECT_EQ(two.shared_mutex("job").try_acquire(options()).error(), errc::busy);
    EXPECT_EQ(two.mutex("job").try_acquire(options()).error(), errc::busy) << "it is one lock";
    ASSERT_TRUE(std::move(first).release());
    ASSERT_TRUE(std::move(second).release());
    auto alone = write(one);
    EXPECT_FALSE(readable(two));
    EXPECT_FALSE(readable(one));
    EXPECT_TRUE(std::move(alone).release());
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(shared_promise, a_reader_is_kept_alive_beside_others_that_come_and_go) {
    const auto mine = read(one);
    auto other = read(two);
    live_through(ttl, one);
    ASSERT_TRUE(std::move(other).release());
    live_through(ttl * 2, one);
    EXPECT_TRUE(mine.held());
    EXPECT_FALSE(is_free());
}

TEST_P(shared_promise, readers_that_wait_for_one_writer_come_in_together) {
    auto held = write(one);
    std::vector<std::future<lease>> readers;
    for (int i = 0; i < 6; ++i) {
        readers.push_back(std::async(std::launch::async, [this] {
            return two.shared_mutex("job").acquire_shared(options(forever)).value();
        }));
    }
    wait_for_waiters(6);
    EXPECT_EQ(two.statistics().waiting_by_mode.shared, 6U);
    EXPECT_THAT(to_prometheus(two.statistics()).value(),
                HasSubstr("holdfast_acquires_waiting{mode=\"shared\"} 6\n"));
    ASSERT_TRUE(std::move(held).release());
    std::vector<lease> in;
    for (auto& one_of_them : readers) in.push_back(one_of_them.get());
    for (const lease& reader : in) EXPECT_TRUE(reader.held());
    EXPECT_EQ(two.statistics().handed_over, 6U) << "nobody had to look";
    EXPECT_EQ(two.statistics().waiting_by_mode.shared, 0U);
}

TEST_P(shared_promise, a_writer_is_not_starved_by_readers_that_keep_coming) {
    std::vector<lease> reading;
    reading.push_back(read(one));
    auto writer = std::async(std::launch::async,
                             [this] { return two.shared_mutex("job").acquire(options(forever)); });
    wait_for_waiters(1);
    EXPECT_EQ(two.statistics().waiting_by_mode.exclusive, 1U);
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(readable(one));
    reading.clear();
    EXPECT_TRUE(writer.get().value().held());
}

TEST_P(shared_promise, a_writer_becomes_a_reader_without_letting_go) {
    auto mine = write(one);
    const auto fence = mine.fence();
    const auto lost = mine.lost();
    auto reader = std::async(std::launch::async, [this] {
        return two.shared_mutex("job").acquire_shared(options(forever)).value();
    });
    wait_for_waiters(1);
    ASSERT_TRUE(mine.downgrade());
    EXPECT_TRUE(reader.get().held()) << "on virtual time nothing but the downgrade can wake it";
    EXPECT_TRUE(mine.held());
    EXPECT_EQ(mine.mode().type, lease_mode::kind::shared);
    EXPECT_EQ(mine.fence(), fence);
    EXPECT_TRUE(mine.downgrade()) << "it may be repeated";
    live_through(ttl * 2, one);
    EXPECT_TRUE(mine.held()) << "the keeper knows it as a reader's";
    EXPECT_FALSE(lost.stop_requested());
    EXPECT_EQ(one.statistics().held, 1U);
    EXPECT_TRUE(std::move(mine).release());
}

TEST_P(shared_promise, a_lease_that_was_turned_still_tells_of_its_loss) {
    auto mine = write(one);
    const auto told = mine.lost();
    ASSERT_TRUE(mine.downgrade());
    bed->forget("job");
    bed->pass(ttl * 2 / 3);
    wait_for("the loss", [&] { return told.stop_requested(); });
    EXPECT_EQ(mine.reason(), loss_reason::taken);
}

TEST_P(shared_promise, a_writer_that_has_lost_its_lease_is_told_and_shares_nothing) {
    auto mine = write(one);
    bed->forget("job");
    EXPECT_EQ(mine.downgrade().error(), errc::lease_lost);
    EXPECT_FALSE(mine.held());
    wait_for("what was granted anew to be given back", [&] { return is_free(); });
}

TEST_P(shared_promise, a_downgrade_without_an_answer_counts_as_one) {
    auto cut = std::make_shared<interposed_store>(bed->make_store());
    client far = bed->client_on(cut);
    auto mine = write(far);
    cut->set_for(interposed_store::line::one_way, 2);
    EXPECT_EQ(mine.downgrade().error(), errc::outcome_unknown);
    EXPECT_TRUE(mine.held());
    EXPECT_EQ(mine.mode().type, lease_mode::kind::shared);
    EXPECT_TRUE(readable(two));
    EXPECT_TRUE(mine.downgrade());
    EXPECT_TRUE(std::move(mine).release());
    EXPECT_TRUE(is_free());
}

TEST_P(shared_promise, a_downgrade_that_was_never_sent_changes_nothing) {
    auto cut = std::make_shared<interposed_store>(bed->make_store());
    client far = bed->client_on(cut);
    auto mine = write(far);
    cut->set_for(interposed_store::line::cut, 1);
    EXPECT_EQ(mine.downgrade().error(), errc::unavailable);
    EXPECT_EQ(mine.mode().type, lease_mode::kind::exclusive);
    EXPECT_FALSE(readable(two));
}

TEST_P(shared_promise, the_standards_guards_work) {
    shared_mutex mine(one, "job", {.ttl = ttl});
    shared_mutex theirs(two, "job", {.ttl = ttl});
    {
        const std::shared_lock reading(mine);
        const std::shared_lock also(theirs);
        EXPECT_GT(mine.current().fence().value, 0U);
        EXPECT_FALSE(std::async(std::launch::async, [&] { return theirs.try_lock(); }).get());
    }
    {
        const std::unique_lock writing(mine);
        EXPECT_FALSE(theirs.try_lock_shared());
        EXPECT_FALSE(theirs.try_lock());
    }
    EXPECT_TRUE(theirs.try_lock_shared_for(2s));
    theirs.unlock_shared();
    EXPECT_TRUE(theirs.try_lock_for(2s));
    theirs.unlock_and_lock_shared();
    EXPECT_TRUE(mine.try_lock_shared());
    mine.unlock_shared();
    theirs.unlock_shared();
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(shared_promise, the_way_from_reader_to_writer_is_refused_and_not_waited_for) {
    shared_mutex mine(one, "job", {.ttl = ttl});
    const std::shared_lock reading(mine);
    for (const auto& attempt : {&shared_mutex::lock, &shared_mutex::lock_shared}) {
        try {
            (mine.*attempt)();
            FAIL() << "it should have thrown";
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), std::errc::resource_deadlock_would_occur);
        }
    }
}

TEST_P(shared_promise, no_thread_writes_while_another_reads) {
    shared_mutex mine(one, "job", {.ttl = ttl});
    shared_mutex theirs(two, "job", {.ttl = ttl});
    int value = 0;  // deliberately not atomic
    std::atomic<int> reads = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) {
        threads.emplace_back([&, i] {
            shared_mutex& m = i % 2 == 0 ? mine : theirs;
            for (int n = 0; n < 40; ++n) {
                if (i < 2) {
                    const std::unique_lock guard(m);
                    ++value;
                } else {
                    const std::shared_lock guard(m);
                    reads += value >= 0 ? 1 : 0;
                }
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(value, 80);
    EXPECT_EQ(reads, 160);
    EXPECT_EQ(one.statistics().lost + two.statistics().lost, 0U);
}

TEST_P(shared_promise, readers_and_writers_wait_without_a_thread) {
    auto held = write(one);
    std::promise<result<lease>> reader;
    std::promise<result<lease>> writer;
    auto m = two.shared_mutex("job");
    m.acquire_shared_async(options(forever),
                           [&](result<lease> got) { reader.set_value(std::move(got)); });
    wait_for_waiters(1);
    m.acquire_async(options(forever), [&](result<lease> got) { writer.set_value(std::move(got)); });
    wait_for_waiters(2);
    ASSERT_TRUE(std::move(held).release());
    auto reading = reader.get_future().get();
    ASSERT_TRUE(reading);
    EXPECT_EQ(two.statistics().waiting_by_mode.exclusive, 1U);
    ASSERT_TRUE(std::move(*reading).release());
    EXPECT_TRUE(writer.get_future().get());
}

TEST_P(shared_promise, a_reader_whose_wait_is_over_leaves_nothing_behind) {
    auto held = write(one);
    auto waiter = std::async(std::launch::async, [&] {
        return two.shared_mutex("job").acquire_shared(options(ttl / 4));
    });
    wait_for_waiters(1);
    EXPECT_EQ(pass_until(waiter).error(), errc::timed_out);
    expect_nobody_waits();
    ASSERT_TRUE(std::move(held).release());
    EXPECT_TRUE(bed->leftovers().empty());
}

HOLDFAST_ON_EVERY_ENGINE(shared_promise);

}  // namespace
}  // namespace holdfast::test
