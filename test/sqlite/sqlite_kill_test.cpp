// SPDX-License-Identifier: Apache-2.0
//
// kill -9 at every system call of every statement, and at random under contention: exclusion and
// fences hold, a change is whole or not there, and the next process just goes on.
#include "driver/sqlite/sqlite_commands.hpp"
#include "sqlite/store_on_file.hpp"
#include "support/run_sql.hpp"

#include <holdfast/client.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <functional>
#include <new>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

// The system calls of SQLite, counted; at the last one the process ends.
long calls_left = 0;

void count_call() {
    if (--calls_left == 0) ::kill(::getpid(), SIGKILL);
}

// Half of it is written when the process ends there.
ssize_t counted_pwrite(int fd, const void* bytes, std::size_t count, off_t at) {
    if (calls_left == 1) static_cast<void>(!::pwrite(fd, bytes, count / 2, at));
    count_call();
    return ::pwrite(fd, bytes, count, at);
}

int counted_fcntl(int fd, int what, ...) {
    va_list rest;
    va_start(rest, what);
    void* const argument = va_arg(rest, void*);
    va_end(rest);
    count_call();
    return ::fcntl(fd, what, argument);
}

int counted_ftruncate(int fd, off_t size) {
    count_call();
    return ::ftruncate(fd, size);
}

int counted_unlink(const char* path) {
    count_call();
    return ::unlink(path);
}

template <class Function>
void replace(const char* name, Function function) {
    sqlite3_vfs* const vfs = ::sqlite3_vfs_find(nullptr);
    vfs->xSetSystemCall(vfs, name, reinterpret_cast<sqlite3_syscall_ptr>(function));
}

void die_at_call(long number) {
    calls_left = number;
    replace("pwrite", counted_pwrite);
    replace("pwrite64", counted_pwrite);
    replace("fcntl", counted_fcntl);
    replace("ftruncate", counted_ftruncate);
    replace("unlink", counted_unlink);
}

/// Runs it in a process of its own: true if it came to its end.
bool survives(const std::function<void()>& act) {
    const pid_t child = ::fork();
    if (child == 0) {
        act();
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) {
        EXPECT_EQ(WEXITSTATUS(status), 0);
        return true;
    }
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    return false;
}

class sqlite_kill : public on_file {
protected:
    using action = std::function<void(sql::sql_lease_store&)>;

    static ask::acquire waiting(ask::acquire asked) {
        asked.otherwise = ask::when_busy::join_queue;
        return asked;
    }

    /// Kills `act` at its first system call, its second, … until it lives through all of them.
    void kill_everywhere(const action& prepare, const action& act) {
        int deaths = 0;
        for (long call = 1;; ++call) {
            ASSERT_LT(call, 2000);
            for (const char* part : {"leases.db", "leases.db-wal", "leases.db-shm"}) {
                std::filesystem::remove(path(part));
            }
            if (prepare) prepare(*store_on({.path = path()}));
            const bool lived = survives([&] {
                die_at_call(call);
                act(*store_on({.path = path()}));
            });
            check(call);
            if (lived) break;
            ++deaths;
        }
        EXPECT_GT(deaths, 5) << "or nothing was tried";
    }

    /// What must hold of "job" whoever died where. Prepared: a holds it, b waits (or nobody).
    void check(long call) {
        SCOPED_TRACE(call);
        const auto store = store_on({.path = path()});
        const auto seen = store->inspect(named("job"), system_clock().now() + 5s);
        ASSERT_TRUE(seen) << to_string(seen.error());
        EXPECT_EQ(run_sql(path(), "PRAGMA integrity_check").at(0), "ok");
        EXPECT_LE(std::stoi(run_sql(path(), "SELECT count(DISTINCT image) FROM holdfast_keys")[0]),
                  1)
            << "half of a transaction";
        std::uint64_t last = 0;
        if (*seen) {
            EXPECT_LE((*seen)->holders.size(), 1U);
            EXPECT_FALSE((*seen)->holders.empty() && (*seen)->waiters > 0) << "nobody has its turn";
            last = (*seen)->fence.value;
        }
        ASSERT_TRUE(store->evict(named("job"), "", system_clock().now() + 5s));
        for (const auto& who : {a, b, c}) {
            ASSERT_TRUE(ask_of(*store, ask::leave{named("job"), who, {}}));
        }
        const auto next = ask_of(*store, acquiring("job", owner()));
        ASSERT_TRUE(is_granted(next)) << "nothing is left behind that blocks";
        EXPECT_GT(std::get<answer::granted>(*next).fence.value, last);
    }

    const owner_token a = owner(), b = owner(), c = owner();
    const action held = [this](auto& store) { ASSERT_TRUE(ask_of(store, acquiring("job", a))); };
    const action held_and_waited_for = [this](auto& store) {
        ASSERT_TRUE(ask_of(store, acquiring("job", a)));
        ASSERT_TRUE(ask_of(store, waiting(acquiring("job", b))));
    };
    static void must(bool done) {
        if (!done) ::_exit(1);
    }
};

TEST_F(sqlite_kill, while_the_file_is_made) {
    kill_everywhere({}, [&](auto& store) { must(is_granted(ask_of(store, acquiring("job", a)))); });
}

TEST_F(sqlite_kill, while_a_free_name_is_taken) {
    kill_everywhere(
        [](auto& store) { must(ask_of(store, acquiring("other", owner())).has_value()); },
        [&](auto& store) { must(is_granted(ask_of(store, acquiring("job", a)))); });
}

TEST_F(sqlite_kill, while_a_lease_is_renewed) {
    kill_everywhere(held, [&](auto& store) {
        must(ask_of(store, ask::renew{named("job"), a, {}, 20s}).has_value());
    });
}

TEST_F(sqlite_kill, while_a_lease_is_released) {
    kill_everywhere(held, [&](auto& store) {
        must(ask_of(store, ask::release{named("job"), a, {}}).has_value());
    });
}

TEST_F(sqlite_kill, while_someone_stands_in_line) {
    kill_everywhere(
        held, [&](auto& store) { must(ask_of(store, waiting(acquiring("job", b))).has_value()); });
}

TEST_F(sqlite_kill, while_a_name_is_handed_off) {
    kill_everywhere(held_and_waited_for, [&](auto& store) {
        must(ask_of(store, ask::release{named("job"), a, {}}).has_value());
    });
}

TEST_F(sqlite_kill, while_a_waiter_leaves) {
    kill_everywhere(held_and_waited_for, [&](auto& store) {
        must(ask_of(store, ask::leave{named("job"), b, {}}).has_value());
    });
}

TEST_F(sqlite_kill, while_a_holder_is_evicted) {
    kill_everywhere(held_and_waited_for, [&](auto& store) {
        must(store.evict(named("job"), "why", system_clock().now() + 5s).has_value());
    });
}

TEST_F(sqlite_kill, while_a_batch_is_carried_out) {
    kill_everywhere(held_and_waited_for, [&](auto& store) {
        const std::vector<lease_request> batch{ask::release{named("job"), a, {}}, acquiring("x", a),
                                               acquiring("y", a), waiting(acquiring("job", c))};
        std::vector<result<lease_reply>> replies(batch.size());
        store.exchange(batch, replies, system_clock().now() + 5s);
        for (const auto& reply : replies) must(reply.has_value());
    });
}

TEST_F(sqlite_kill, while_a_transaction_of_commands_is_carried_out) {
    const auto raise_both = [this] {
        const auto engine =
            sqlite::make_sqlite_commands({.path = path()}, system_clock(), system_entropy());
        const auto first = words("INCR", "a");
        const auto second = words("INCR", "b");
        const std::array<command, 2> both{first, second};
        return engine->transaction(both, system_clock().now() + 5s);
    };
    kill_everywhere([&](auto&) { must(raise_both().has_value()); },
                    [&](auto&) { must(raise_both().has_value()); });
    EXPECT_EQ(run_sql(path(), "SELECT count(*) FROM holdfast_keys").at(0), "2");
}

/// What the workers see of each other, in memory that outlives them.
struct witness {
    std::atomic<std::int64_t> valid_until = 0;  ///< Boottime ns of whoever is inside; 0: nobody.
    std::atomic<std::uint64_t> last_fence = 0;
    std::atomic<int> entered = 0;
    std::atomic<int> meetings = 0;
    std::atomic<int> old_fences = 0;
    std::atomic<int> failures = 0;
};

std::int64_t nanos(time_point t) {
    return t.time_since_epoch().count();
}

[[noreturn]] void work_for_ever(const std::string& file, witness& seen) {
    auto hf = open("sqlite:" + file);
    if (!hf) ::_exit(1);
    auto hot = hf->mutex("hot", {.ttl = 300ms});
    while (true) {
        auto held = hot.acquire();
        if (!held) {
            ++seen.failures;
            continue;
        }
        const time_point now = system_clock().now();
        const std::int64_t other = seen.valid_until.exchange(nanos(now + held->remaining()));
        if (other > nanos(now) && held->held()) ++seen.meetings;
        const std::uint64_t mine = held->fence().value;
        if (seen.last_fence.exchange(mine) >= mine && held->held()) ++seen.old_fences;
        ++seen.entered;
        if (held->held()) seen.valid_until = 0;
        static_cast<void>(std::move(*held).release());
    }
}

TEST_F(sqlite_kill, at_random_never_lets_two_believe_and_never_stops_the_others) {
    void* const memory =
        ::mmap(nullptr, sizeof(witness), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto& seen = *new (memory) witness;
    const auto start = [&] {
        const pid_t child = ::fork();
        if (child == 0) work_for_ever(path(), seen);
        return child;
    };
    std::vector<pid_t> workers;
    for (int i = 0; i < 4; ++i) workers.push_back(start());
    for (int round = 0; round < 150; ++round) {
        // style: allow clock, because processes are killed in the middle of whatever they do
        std::this_thread::sleep_for(std::chrono::milliseconds(5 + system_entropy().below(40)));
        pid_t& victim = workers[system_entropy().below(workers.size())];
        ::kill(victim, SIGKILL);
        ::waitpid(victim, nullptr, 0);
        victim = start();
    }
    const int before = seen.entered;
    // style: allow clock, because the others must go on by themselves, in real time
    std::this_thread::sleep_for(1500ms);
    const int after = seen.entered;
    for (const pid_t worker : workers) {
        ::kill(worker, SIGKILL);
        ::waitpid(worker, nullptr, 0);
    }
    EXPECT_EQ(seen.meetings, 0);
    EXPECT_EQ(seen.old_fences, 0);
    EXPECT_EQ(seen.failures, 0);
    EXPECT_GT(after, before) << "nobody got it for five times its ttl";
    EXPECT_GT(seen.entered, 100);
    EXPECT_EQ(run_sql(path(), "PRAGMA integrity_check").at(0), "ok");
    ::munmap(memory, sizeof(witness));
}

}  // namespace
}  // namespace holdfast::test
