// SPDX-License-Identifier: Apache-2.0
#include "traffic/coalescer.hpp"

#include "support/wait_for.hpp"

#include <gmock/gmock.h>

#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

using group = detail::coalescer<std::string>;

/// Questions that are answered when the case says so.
class coalescer : public testing::Test {
protected:
    ~coalescer() override { answer(64); }

    /// Asks on a thread of its own; what it got is added to `parts_`.
    void start(std::uint64_t n, std::uint64_t most = 100, const std::string& key = "key") {
        threads_.emplace_back([this, n, most, key] {
            const auto got = coalescer_.ask_for(key, n, most, [&](std::uint64_t total) {
                {
                    const std::scoped_lock guard(mutex_);
                    asked_.push_back(total);
                }
                answers_.acquire();
                return key;
            });
            EXPECT_EQ(got.answer, key);
            const std::scoped_lock guard(mutex_);
            parts_.emplace_back(got.total, got.before);
        });
    }
    void answer(int count) { answers_.release(count); }
    std::vector<std::uint64_t> asked() {
        const std::scoped_lock guard(mutex_);
        return asked_;
    }
    void wait_for_questions(std::size_t count) {
        wait_for("calls", [&] { return asked().size() == count; });
    }
    /// Two that ask, so that whoever comes next waits for them.
    void occupy(const std::string& key = "key") {
        start(1, 100, key);
        start(1, 100, key);
        wait_for_questions(2);
    }

    group coalescer_;
    std::mutex mutex_;
    std::vector<std::uint64_t> asked_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> parts_;
    std::counting_semaphore<1024> answers_{0};
    std::vector<std::jthread> threads_;
};

TEST_F(coalescer, one_that_is_alone_asks_at_once_for_itself) {
    for (std::uint64_t n = 1; n <= 3; ++n) {
        const auto got = coalescer_.ask_for(
            "key", n, 100, [](std::uint64_t total) { return std::to_string(total); });
        EXPECT_EQ(got.answer, std::to_string(n));
        EXPECT_EQ(got.total, n);
        EXPECT_EQ(got.before, 0U);
    }
}

TEST_F(coalescer, those_who_come_meanwhile_are_asked_for_once_and_each_has_its_part) {
    occupy();
    start(5);
    wait_for("the first of the group", [&] { return coalescer_.waiting("key") == 5; });
    start(7);
    wait_for("the second", [&] { return coalescer_.waiting("key") == 12; });
    start(1);
    wait_for("the third", [&] { return coalescer_.waiting("key") == 13; });
    EXPECT_THAT(asked(), ElementsAre(1, 1));
    answer(1);
    wait_for_questions(3);
    EXPECT_EQ(asked().back(), 13U);
    answer(2);
    threads_.clear();
    using part = std::pair<std::uint64_t, std::uint64_t>;
    EXPECT_THAT(parts_, UnorderedElementsAre(part(1, 0), part(1, 0), part(13, 0), part(13, 5),
                                             part(13, 12)));
}

TEST_F(coalescer, a_sum_is_never_above_what_can_be_had_at_once) {
    occupy();
    start(60);
    wait_for("a group", [&] { return coalescer_.waiting("key") == 60; });
    start(41);  // asks alone
    wait_for_questions(3);
    EXPECT_EQ(asked().back(), 41U);
    start(40);
    wait_for("a full group", [&] { return coalescer_.waiting("key") == 100; });
    answer(3);
    wait_for_questions(4);
    EXPECT_EQ(asked().back(), 100U);
}

TEST_F(coalescer, other_keys_do_not_wait) {
    occupy();
    for (int i = 0; i < 100; ++i) start(1, 100, "other" + std::to_string(i));
    wait_for_questions(102);
    answer(102);
}

TEST_F(coalescer, nobody_is_forgotten_when_many_come_and_go) {
    std::atomic<std::uint64_t> total = 0;
    std::atomic<std::uint64_t> parts = 0;
    {
        std::vector<std::jthread> many;
        for (int t = 0; t < 8; ++t) {
            many.emplace_back([&] {
                for (int i = 0; i < 2000; ++i) {
                    const auto got = coalescer_.ask_for("key", 1, 1000, [&](std::uint64_t sum) {
                        total += sum;
                        std::this_thread::yield();
                        return "key";
                    });
                    EXPECT_LT(got.before, got.total);
                    ++parts;
                }
            });
        }
    }
    EXPECT_EQ(total, 16000U) << "each was asked for once";
    EXPECT_EQ(parts, 16000U);
    EXPECT_EQ(coalescer_.waiting("key"), 0U);
}

}  // namespace
}  // namespace holdfast::test
