// SPDX-License-Identifier: Apache-2.0
//
// Readers and writers as users see them.
#include "conformance/lease/interposed_store.hpp"
#include "conformance/lease/mutex_fixture.hpp"

#include <holdfast/prometheus.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <mutex>
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

TEST_P(shared_promise, the_readers_of_one_client_do_not_fill_the_line) {
    constexpr std::size_t many = 1'200;  // more than a line has places
    auto alone = write(one);
    auto crowd = bed->make_client({.request_timeout = 30s});
    std::mutex guard;
    std::vector<lease> in;
    std::vector<error> refused;
    for (std::size_t i = 0; i < many; ++i) {
        crowd.shared_mutex("job").acquire_shared_async(options(forever), [&](result<lease> got) {
            const std::scoped_lock lock(guard);
            if (got) in.push_back(std::move(*got));
            if (!got) refused.push_back(std::move(got.error()));
        });
    }
    EXPECT_EQ(crowd.statistics().waiting_by_mode.shared, many);
    wait_for("some in line", [&] { return waiting() > 1; });
    EXPECT_LE(waiting(), 32U);
    auto other = std::async(std::launch::async, [&] {
        return two.shared_mutex("job").acquire_shared(options(forever)).value().release();
    });
    ASSERT_TRUE(std::move(alone).release());
    EXPECT_TRUE(pass_until(other));
    wait_for(
        "all readers",
        [&] {
            bed->pass(1ms);
            const std::scoped_lock lock(guard);
            return in.size() + refused.size() == many;
        },
        60s);
    const std::scoped_lock lock(guard);
    EXPECT_EQ(in.size(), many);
    EXPECT_TRUE(refused.empty()) << refused.front().detail;
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
    EXPECT_EQ(two.statistics().handed_off, 6U) << "nobody had to look";
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
    EXPECT_EQ(mine.reason(), loss_reason::missing);
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

/// Holds renewals back, and lets them arrive when the next downgrade was carried out and has not
/// been answered yet.
class overtaken_store final : public lease_store {
public:
    explicit overtaken_store(std::shared_ptr<lease_store> inner) : inner_(std::move(inner)) {}

    void hold_back() { holding_ = true; }
    [[nodiscard]] std::size_t held_back() const { return held_back_; }
    [[nodiscard]] std::size_t arrived() const { return arrived_; }

    [[nodiscard]] capabilities can() const noexcept override { return inner_->can(); }
    void exchange(std::span<const lease_request> requests, std::span<result<lease_reply>> replies,
                  time_point give_up) override {
        inner_->exchange(requests, replies, give_up);
        if (!holding_) return;
        const auto* asked = std::get_if<ask::acquire>(&requests.front());
        if (asked == nullptr || asked->turns.value == 0) return;
        for (const auto& [request, on_reply] : kept_) {
            result<lease_reply> late;
            inner_->exchange({&request, 1}, {&late, 1}, give_up);
            on_reply(0, late);
            ++arrived_;
        }
    }
    void submit(std::vector<lease_request> requests, time_point give_up,
                reply_handler on_reply) override {
        const bool renews = std::holds_alternative<ask::renew>(requests.front());
        if (!holding_ || !renews) {
            return inner_->submit(std::move(requests), give_up, std::move(on_reply));
        }
        kept_.emplace_back(std::move(requests.front()), std::move(on_reply));
        ++held_back_;
    }
    void on_push(push_handler handler) override { inner_->on_push(std::move(handler)); }
    result<std::vector<lease_info>> list(std::string_view prefix, time_point give_up) override {
        return inner_->list(prefix, give_up);
    }

private:
    const std::shared_ptr<lease_store> inner_;
    std::atomic<bool> holding_ = false;
    std::atomic<std::size_t> held_back_ = 0;
    std::size_t arrived_ = 0;
    std::vector<std::pair<lease_request, reply_handler>> kept_;
};

TEST_P(shared_promise, a_downgrade_that_overtakes_its_own_renewal_loses_nothing) {
    const auto line = std::make_shared<overtaken_store>(bed->make_store());
    auto racing = bed->client_on(line);
    auto mine = write(racing);
    auto reader = std::async(std::launch::async, [&] {
        return two.shared_mutex("job").acquire_shared(options(1h)).value();
    });
    wait_for_waiters(1);
    line->hold_back();
    bed->pass(ttl / 3);
    wait_for("a renewal on its way", [&] { return line->held_back() == 1; });
    EXPECT_TRUE(mine.downgrade()) << "the renewal arrived when a reader stood beside it";
    EXPECT_EQ(line->arrived(), 1U);
    // The time that passed may have ended the reader's place before it read its first answer.
    EXPECT_TRUE(pass_until(reader).held());
    EXPECT_TRUE(mine.held());
    EXPECT_FALSE(mine.lost().stop_requested());
    EXPECT_EQ(racing.statistics().lost, 0U);
    EXPECT_TRUE(std::move(mine).release());
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
