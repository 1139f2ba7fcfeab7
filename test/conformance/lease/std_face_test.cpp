// SPDX-License-Identifier: Apache-2.0
//
// The standard's own guards on a mutex that works across machines.
#include "conformance/lease/mutex_fixture.hpp"

#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class std_face_promise : public mutex_case {};

TEST_P(std_face_promise, the_standards_guards_work) {
    mutex a(one, "a", {.ttl = ttl});
    mutex b(one, "b", {.ttl = ttl});
    {
        const std::scoped_lock both(a, b);
        EXPECT_FALSE(is_free("a"));
        EXPECT_FALSE(is_free("b"));
        EXPECT_GT(a.current().fence().value, 0U);
    }
    EXPECT_TRUE(is_free("a"));
    EXPECT_TRUE(is_free("b"));

    mutex same(two, "a", {.ttl = ttl});
    std::unique_lock first(a);
    const std::unique_lock second(same, std::try_to_lock);
    EXPECT_FALSE(second.owns_lock());
    first.unlock();
    EXPECT_TRUE(same.try_lock_for(2s));
    same.unlock();
}

TEST_P(std_face_promise, the_std_face_excludes_the_threads_of_one_object) {
    mutex shared(one, "counter", {.ttl = ttl});
    int counter = 0;  // deliberately not atomic
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
            for (int n = 0; n < 100; ++n) {
                const std::scoped_lock guard(shared);
                ++counter;
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(counter, 800);
    EXPECT_EQ(one.statistics().acquired, 800U);
}

TEST_P(std_face_promise, locking_what_this_thread_has_locked_is_told_and_not_waited_for) {
    mutex a(one, "a", {.ttl = ttl});
    const std::scoped_lock guard(a);
    try {
        a.lock();
        FAIL() << "a second lock() returned";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::resource_deadlock_would_occur);
    }
}

TEST_P(std_face_promise, unlocking_what_was_lost_neither_throws_nor_touches_the_next_holder) {
    mutex a(one, "job", {.ttl = ttl});
    a.lock();
    bed->forget("job");
    const auto next = take(two);
    a.unlock();
    EXPECT_TRUE(next.held());
    EXPECT_EQ(one.mutex("job").try_acquire(options()).error(), errc::busy);
}

TEST_P(std_face_promise, the_std_face_throws_what_the_explicit_face_answers) {
    mutex bad(one, "");
    try {
        bad.lock();
        FAIL() << "an empty name was locked";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::error_code(errc::invalid_argument));
        EXPECT_NE(std::string(e.what()).find("name is empty"), std::string::npos);
    }
}

template <class Act>
void expect_not_permitted(const Act& act) {
    try {
        act();
        ADD_FAILURE() << "a thread that has not locked it was answered";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::operation_not_permitted);
        EXPECT_NE(std::string(e.what()).find("this thread has not locked it"), std::string::npos);
    }
}

TEST_P(std_face_promise, who_has_not_locked_it_is_told_so_in_words) {
    mutex plain(one, "job");
    shared_mutex shared(one, "book");
    recursive_mutex again(one, "tree");
    expect_not_permitted([&] { static_cast<void>(plain.current()); });
    expect_not_permitted([&] { static_cast<void>(shared.current()); });
    expect_not_permitted([&] { shared.unlock_and_lock_shared(); });
    expect_not_permitted([&] { static_cast<void>(again.current()); });

    plain.lock();
    std::thread([&] {
        expect_not_permitted([&] { static_cast<void>(plain.current()); });
        plain.unlock();
    }).join();
    EXPECT_TRUE(plain.current().held()) << "only its holder can unlock it";
    plain.unlock();
    expect_not_permitted([&] { static_cast<void>(plain.current()); });
}

HOLDFAST_ON_EVERY_ENGINE(std_face_promise);

}  // namespace
}  // namespace holdfast::test
