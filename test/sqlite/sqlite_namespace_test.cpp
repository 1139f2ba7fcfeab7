// SPDX-License-Identifier: Apache-2.0
//
// Containers that share a file: processes in namespaces with a boot id or a clock of their own.
#include "sqlite/store_on_file.hpp"
#include "support/run_sql.hpp"

#include <holdfast/client.hpp>

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <functional>
#include <thread>

namespace holdfast::test {
namespace {

constexpr int no_namespace = 77;
constexpr const char* id_file = "/proc/sys/kernel/random/boot_id";

/// Runs it in a process of its own, which ends with what it answers.
int in_process(const std::function<int()>& act) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(act());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

class sqlite_containers : public on_file {
protected:
    /// In a mount namespace where the kernel's boot id is this text.
    int with_boot_id(const std::string& id, const std::function<int()>& act) {
        const std::string file = path("id");
        std::ofstream(file) << id << '\n';
        return in_process([&] {
            if (::unshare(CLONE_NEWNS) != 0) return no_namespace;
            if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
                ::mount(file.c_str(), id_file, nullptr, MS_BIND, nullptr) != 0) {
                return no_namespace;
            }
            return act();
        });
    }

    /// In a time namespace whose CLOCK_BOOTTIME is ahead of ours by so many seconds.
    static int with_clock_ahead(int seconds, const std::function<int()>& act) {
        return in_process([&] {
            if (::unshare(CLONE_NEWTIME) != 0) return no_namespace;
            std::ofstream offsets("/proc/self/timens_offsets");
            offsets << "boottime " << seconds << " 0\n" << std::flush;
            return offsets ? in_process(act) : no_namespace;
        });
    }

    /// What a newcomer is told that wants "job" at once: an errc, or 100 if it got it.
    [[nodiscard]] int try_job() const {
        auto hf = open("sqlite:" + path());
        if (!hf) return 101;
        const auto held = hf->mutex("job").try_acquire();
        return held ? 100 : static_cast<int>(held.error().code);
    }

    void expect_excluded(const std::function<int(const std::function<int()>&)>& elsewhere) {
        auto hf = open("sqlite:" + path()).value();
        auto held = hf.mutex("job", {.ttl = 30s}).acquire();
        ASSERT_TRUE(held) << to_string(held.error());
        const int seen = elsewhere([&] { return try_job(); });
        if (seen == no_namespace) GTEST_SKIP() << "allowed: needs the right to make a namespace";
        EXPECT_EQ(seen, static_cast<int>(errc::busy));
        const auto last = held->fence();
        ASSERT_TRUE(std::move(*held).release());
        EXPECT_EQ(elsewhere([&] { return try_job(); }), 100);
        const auto next = hf.mutex("job").acquire();
        ASSERT_TRUE(next) << to_string(next.error());
        EXPECT_GT(next->fence(), last);
        const auto now = system_clock().wall().time_since_epoch().count();
        EXPECT_NEAR(static_cast<double>(next->fence().value), static_cast<double>(now), 60e6)
            << "the time of the file has not leapt";
    }
};

TEST_F(sqlite_containers, with_boot_ids_of_their_own_exclude_each_other) {
    expect_excluded([&](const auto& act) { return with_boot_id("0123-4567", act); });
}

TEST_F(sqlite_containers, whose_clock_is_ahead_exclude_each_other) {
    expect_excluded([&](const auto& act) { return with_clock_ahead(1'000'000, act); });
}

TEST_F(sqlite_containers, whose_clock_is_behind_exclude_each_other) {
    expect_excluded([&](const auto& act) { return with_clock_ahead(-60, act); });
}

TEST_F(sqlite_containers, the_one_with_another_id_may_come_first) {
    std::array<int, 2> ready{};
    std::array<int, 2> done{};
    ASSERT_EQ(::pipe(ready.data()), 0);
    ASSERT_EQ(::pipe(done.data()), 0);
    std::thread other([&] {
        const int ended = with_boot_id("89ab-cdef", [&] {
            ::close(done[1]);
            auto hf = open("sqlite:" + path()).value();
            const auto held = hf.mutex("job", {.ttl = 30s}).try_acquire();
            char word = held ? 'y' : 'n';
            static_cast<void>(!::write(ready[1], &word, 1));
            static_cast<void>(!::read(done[0], &word, 1));  // until the other side is closed
            return 0;
        });
        const char word = ended == no_namespace ? 's' : 'e';
        static_cast<void>(!::write(ready[1], &word, 1));
    });
    char word = 0;
    ASSERT_EQ(::read(ready[0], &word, 1), 1);
    const int seen = word == 'y' ? in_process([&] {
        ::close(done[1]);
        return try_job();
    })
                                 : 0;
    ::close(done[1]);
    other.join();
    if (word == 's') GTEST_SKIP() << "allowed: needs the right to make a namespace";
    EXPECT_EQ(word, 'y');
    EXPECT_EQ(seen, static_cast<int>(errc::busy));
}

TEST_F(sqlite_containers, where_the_kernels_files_are_hidden_are_refused) {
    const int seen = with_boot_id("", [&] { return try_job(); });
    if (seen == no_namespace) GTEST_SKIP() << "allowed: needs the right to make a namespace";
    EXPECT_EQ(seen, static_cast<int>(errc::unsupported));
}

}  // namespace
}  // namespace holdfast::test
