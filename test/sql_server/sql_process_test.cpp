// SPDX-License-Identifier: Apache-2.0
//
// Several processes on one server: what one does wakes the waiters of another.

#include HOLDFAST_SQL_GROUND  // the server's: its program says which

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace holdfast::test {
namespace {

/// A process that holds a name until it is told to release it, or is killed.
class other_holder {
public:
    other_holder(std::uint16_t port, const std::string& name, duration ttl) {
        if (::pipe(up_.data()) != 0 || ::pipe(down_.data()) != 0) std::abort();
        pid_ = ::fork();
        if (pid_ == 0) hold(port, name, ttl);
        char word = 0;
        EXPECT_EQ(::read(up_[0], &word, 1), 1);
        EXPECT_EQ(word, 'h');
    }
    ~other_holder() {
        kill();
        for (const int fd : {up_[0], up_[1], down_[0], down_[1]}) ::close(fd);
    }
    void release() {
        char word = 'r';
        EXPECT_EQ(::write(down_[1], &word, 1), 1);
        EXPECT_EQ(::read(up_[0], &word, 1), 1);
        EXPECT_EQ(word, 'd');
    }
    void kill() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(std::exchange(pid_, -1), nullptr, 0);
    }

private:
    [[noreturn]] void hold(std::uint16_t port, const std::string& name, duration ttl) {
        {
            sql_store on(options_at(port));
            const owner_token me = new_owner();
            const auto held = on.acquire(name_of(name), me, ask::when_busy::refuse, ttl);
            char word = is_granted(held) ? 'h' : 'x';
            if (::write(up_[1], &word, 1) != 1 || ::read(down_[0], &word, 1) != 1) ::_exit(1);
            word = on.release(name_of(name), me) ? 'd' : 'x';
            if (::write(up_[1], &word, 1) != 1) ::_exit(1);
        }
        ::_exit(0);
    }

    std::array<int, 2> up_{};
    std::array<int, 2> down_{};
    pid_t pid_ = -1;
};

TEST(sql_processes, a_release_in_another_process_is_told_to_the_next_in_line) {
    const std::uint16_t port = shared_server().port();
    other_holder other(port, "told", 60s);
    sql_store here(options_at(port));
    const owner_token me = new_owner();
    const auto waits = here.acquire(name_of("told"), me, ask::when_busy::join_queue);
    ASSERT_TRUE(is_busy(waits));
    EXPECT_GE(std::get<answer::busy>(*waits).poll_after, 900ms) << "it looks, as if not told";

    other.release();
    wait_for("the note", [&] { return !here.heard().empty(); });
    const handed_off given = here.heard().front();
    EXPECT_EQ(given.owner.value(), me.value());
    EXPECT_GT(given.ttl, 0s);
    const auto mine = here.acquire(name_of("told"), me);
    ASSERT_TRUE(is_granted(mine));
    EXPECT_EQ(fence_of(mine), given.fence.value);
}

TEST(sql_processes, a_holder_that_was_killed_is_followed_when_its_lease_is_over) {
    const std::uint16_t port = shared_server().port();
    other_holder other(port, "killed", 2s);
    auto here = open(shared_server().url()).value();
    other.kill();
    const auto mine = here.mutex("killed").acquire({.wait = 20s});
    EXPECT_TRUE(mine) << mine.error().detail;
}

TEST(sql_processes, a_child_of_fork_is_refused_and_leaves_its_parent_alone) {
    sql_store here(options_at(shared_server().port()));
    const owner_token me = new_owner();
    ASSERT_TRUE(is_granted(here.acquire(name_of("parent"), me)));
    ASSERT_TRUE(is_busy(here.acquire(name_of("parent"), new_owner(), ask::when_busy::join_queue)));
    const pid_t child = ::fork();
    if (child == 0) {
        const auto reply = here.acquire(name_of("child"), new_owner());
        ::_exit(!reply && reply.error() == errc::invalid_argument ? 0 : 1);
    }
    int status = 1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(here.release(name_of("parent"), me));
}

}  // namespace
}  // namespace holdfast::test
