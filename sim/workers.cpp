// SPDX-License-Identifier: Apache-2.0
#include "workers.hpp"

#include "run.hpp"

#include <holdfast/clock.hpp>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <system_error>
#include <vector>

namespace holdfast::sim {
namespace {

constexpr std::size_t most_jobs = 256;
constexpr std::size_t most_failures = 4096;
constexpr std::uint64_t none = UINT64_MAX;
#ifdef HOLDFAST_MUTANTS
constexpr rlim_t most_memory = 1U << 30U;
#endif

// What the workers share: in memory that fork() does not copy.
struct blackboard {
    std::atomic<std::uint64_t> next;
    std::atomic<std::uint64_t> done;
    std::atomic<std::uint64_t> events;
    std::atomic<std::uint64_t> failed{none};
    std::atomic<std::uint64_t> unequal{none};
    std::atomic<bool> stop;
    std::atomic<std::size_t> failures;
    std::array<std::uint64_t, most_failures> all_failed;
    std::array<std::atomic<std::uint64_t>, most_jobs> at;  ///< The seed of each worker.
};

void lower(std::atomic<std::uint64_t>& value, std::uint64_t to) {
    std::uint64_t now = value.load();
    while (to < now && !value.compare_exchange_weak(now, to)) {
    }
}

void note_failure(const campaign& what, blackboard& board, std::uint64_t seed) {
    lower(board.failed, seed);
    const std::size_t place = board.failures.fetch_add(1);
    if (place < most_failures) board.all_failed[place] = seed;
    if (!what.go_on || place + 1 >= most_failures) board.stop = true;
    // A long run that is broken off has told what it found.
    const bool on_a_bar = ::isatty(STDERR_FILENO) != 0;
    if (what.go_on) fmt::print(stderr, "{}seed {} fails\n", on_a_bar ? "\r\x1b[K" : "", seed);
}

void work(const campaign& what, blackboard& board, std::size_t me) {
    for (;;) {
        const std::uint64_t seed = board.next.fetch_add(1);
        if (board.stop || seed >= what.first + what.count) return;
        board.at[me] = seed;
        const verdict found = run_seed(seed, what.bounds);
        if (what.twice && run_seed(seed, what.bounds).hash != found.hash) {
            lower(board.unequal, seed);
            board.stop = true;
        }
        if (!found.good()) note_failure(what, board, seed);
        board.events += found.events;
        ++board.done;
        board.at[me] = none;
    }
}

pid_t start_worker(const campaign& what, blackboard& board, std::size_t me) {
    const pid_t child = ::fork();
    if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child > 0) return child;
#ifdef HOLDFAST_MUTANTS
    // A bug may take all there is: then it has crashed, and not the machine.
    const rlimit memory{.rlim_cur = most_memory, .rlim_max = most_memory};
    static_cast<void>(::setrlimit(RLIMIT_DATA, &memory));
#endif
    work(what, board, me);
    std::_Exit(0);
}

}  // namespace

campaign_end run_campaign(const campaign& what, const std::function<void(const progress&)>& show) {
    void* shared = ::mmap(nullptr, sizeof(blackboard), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    blackboard& board = *new (shared) blackboard;
    board.next = what.first;
    clock& time = system_clock();
    const time_point began = time.now();
    const auto so_far = [&] {
        const duration elapsed = time.now() - began;
        return progress{board.done, board.events,
                        std::chrono::duration_cast<std::chrono::milliseconds>(elapsed),
                        board.failures};
    };
    std::vector<pid_t> workers;
    const std::size_t jobs = std::min<std::size_t>(std::max(1U, what.jobs), most_jobs);
    for (std::size_t i = 0; i < jobs; ++i) workers.push_back(start_worker(what, board, i));
    campaign_end end;
    std::size_t left = jobs;
    std::mutex mutex;
    std::unique_lock held(mutex);
    std::condition_variable never;
    while (left > 0) {
        for (std::size_t i = 0; i < jobs; ++i) {
            int status = 0;
            if (workers[i] == 0 || ::waitpid(workers[i], &status, WNOHANG) == 0) continue;
            workers[i] = 0;
            --left;
            if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
            end.crashed = true;
            lower(board.failed, board.at[i]);
            board.stop = true;
        }
        show(so_far());
        if (what.time.count() > 0 && so_far().elapsed >= what.time) board.stop = true;
        time.wait_until(held, never, time.now() + std::chrono::milliseconds(20));
    }
    end.sum = so_far();
    end.unequal = board.unequal != none;
    const std::uint64_t worst = std::min(board.failed.load(), board.unequal.load());
    if (worst != none) end.failed = worst;
    const std::size_t failures = std::min(board.failures.load(), most_failures);
    end.all_failed.assign(board.all_failed.begin(), board.all_failed.begin() + failures);
    std::ranges::sort(end.all_failed);
    ::munmap(shared, sizeof(blackboard));
    return end;
}

}  // namespace holdfast::sim
