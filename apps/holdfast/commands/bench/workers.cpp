// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/workers.hpp"

#include "commands/bench/bench_engine.hpp"
#include "commands/bench/pace.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>
#include <thread>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;

/// What one worker noted, in memory that its process may share with us.
struct notes {
    static constexpr std::size_t room = 1 << 15;

    std::uint64_t done;
    std::uint64_t samples;
    float longest_acquire_us;
    std::array<float, room> acquire_us;
    std::array<float, room> release_us;
    std::array<char, 200> failure;  ///< Empty if all went well.

    void fail_with(std::string_view why) {
        std::memcpy(failure.data(), why.data(), std::min(why.size(), failure.size() - 1));
    }
    void time(duration acquire, duration release) {
        const std::size_t at = samples++ % room;
        acquire_us[at] = static_cast<float>(acquire.count()) / 1000.0F;
        release_us[at] = static_cast<float>(release.count()) / 1000.0F;
        longest_acquire_us = std::max(longest_acquire_us, acquire_us[at]);
    }
};

struct head {
    std::atomic<int> ready;
    std::atomic<std::int64_t> start;  ///< 0 before it.
    std::atomic<std::uint64_t> commands;
};

/// The kernel's zeros are what all of it starts from.
class board {
public:
    explicit board(int workers)
        : bytes_(sizeof(notes) * static_cast<std::size_t>(workers) + sizeof(notes)),
          memory_(
              ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
        if (memory_ == MAP_FAILED) throw std::bad_alloc();
    }
    board(const board&) = delete;
    board& operator=(const board&) = delete;
    ~board() { ::munmap(memory_, bytes_); }

    [[nodiscard]] head& all() const { return *static_cast<head*>(memory_); }
    [[nodiscard]] notes& of(int worker) const { return static_cast<notes*>(memory_)[1 + worker]; }

private:
    std::size_t bytes_;
    void* memory_;
};

result<void> run_once(operation& one) {
    auto taken = one.take();
    return taken ? one.release() : taken;
}

result<void> run_timed(operation& one, notes& mine, time_point asked) {
    clock& time = system_clock();
    auto taken = one.take();
    const time_point got = time.now();
    if (!taken) return taken;
    auto given_back = one.release();
    mine.time(got - asked, time.now() - got);
    return given_back;
}

void work(operation& one, notes& mine, int id, const bench::pace& at, int timed_each,
          time_point end) {
    clock& time = system_clock();
    result<void> done;
    while (done) {
        if (at.rate > 0) {
            const time_point due = at.due(id, mine.done);
            if (due >= end) return;
            std::this_thread::sleep_for(due - time.now());
            done = run_timed(one, mine, due);
            mine.done += 1;
            continue;
        }
        const time_point now = time.now();
        if (now >= end) return;
        done = run_timed(one, mine, now);
        for (int i = 1; i < timed_each && done; ++i) done = run_once(one);
        mine.done += static_cast<std::uint64_t>(timed_each);
    }
    mine.fail_with(to_string(done.error()));
}

// Once before the clock starts, so that connections and scripts are there. Then all together.
void take_part(const operation_maker& make, const board& shared, int id,
               const worker_setup& options) {
    const auto one = make(id);
    notes& mine = shared.of(id);
    const auto warm = run_once(*one);
    if (!warm) mine.fail_with(to_string(warm.error()));
    shared.all().ready.fetch_add(1);
    while (shared.all().start.load() == 0) std::this_thread::sleep_for(200us);
    const time_point start{duration(shared.all().start.load())};
    const bench::pace at{start, options.workers, options.rate};
    if (warm) work(*one, mine, id, at, options.timed_each, start + options.length);
}

// A worker that cannot begin is ready too: it has noted why.
time_point start_all(const board& shared, int workers, const worker_setup& options) {
    const time_point patience = system_clock().now() + 20s;
    while (shared.all().ready.load() < workers && system_clock().now() < patience) {
        std::this_thread::sleep_for(200us);
    }
    if (options.when_ready) options.when_ready();
    const time_point start = system_clock().now();
    shared.all().start.store(start.time_since_epoch().count());
    return start;
}

result<worker_result> collect(const board& shared, int workers) {
    worker_result out;
    for (int id = 0; id < workers; ++id) {
        const notes& one = shared.of(id);
        if (one.failure[0] != '\0') return fail(errc::unavailable, one.failure.data());
        out.done += one.done;
        out.per_worker.push_back(one.done);
        const auto count =
            static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(one.samples, notes::room));
        out.acquire_us.insert(out.acquire_us.end(), one.acquire_us.begin(),
                              one.acquire_us.begin() + count);
        out.release_us.insert(out.release_us.end(), one.release_us.begin(),
                              one.release_us.begin() + count);
        out.longest_acquire_us =
            std::max(out.longest_acquire_us, static_cast<double>(one.longest_acquire_us));
    }
    return out;
}

double seconds_since(time_point start) {
    return std::chrono::duration<double>(system_clock().now() - start).count();
}

result<worker_result> by_threads(const std::string& url, const worker_setup& options,
                                 const worker_plan& plan) {
    auto on = open(url);
    if (!on) return std::unexpected(std::move(on.error()));
    const board shared(options.workers);
    const operation_maker make = plan(*on);
    std::vector<std::jthread> threads;
    for (int id = 0; id < options.workers; ++id) {
        threads.emplace_back([&, id] { take_part(make, shared, id, options); });
    }
    const time_point start = start_all(shared, options.workers, options);
    const double cpu = own_cpu_seconds();
    const auto sent = commands_sent(*on);
    threads.clear();
    auto out = collect(shared, options.workers);
    if (!out) return out;
    out->seconds = seconds_since(start);
    out->cpu_seconds = own_cpu_seconds() - cpu;
    if (sent) out->commands = *commands_sent(*on) - *sent;
    return out;
}

[[noreturn]] void live_as_child(const std::string& url, const board& shared, int id,
                                const worker_setup& options, const worker_plan& plan,
                                pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent) {
        auto on = open(url);
        if (on) {
            take_part(plan(*on), shared, id, options);
            shared.all().commands += commands_sent(*on).value_or(0);
        } else {
            shared.of(id).fail_with(to_string(on.error()));
            shared.all().ready.fetch_add(1);
        }
    }
    ::_exit(0);
}

result<worker_result> by_processes(const std::string& url, const worker_setup& options,
                                   const worker_plan& plan) {
    const board shared(options.workers);
    std::fflush(nullptr);
    const pid_t parent = ::getpid();
    const double cpu = children_cpu_seconds();
    std::vector<pid_t> children;
    for (int id = 0; id < options.workers; ++id) {
        const pid_t child = ::fork();
        if (child == 0) live_as_child(url, shared, id, options, plan, parent);
        if (child < 0) {
            shared.of(id).fail_with("fork: " + std::generic_category().message(errno));
            break;
        }
        children.push_back(child);
    }
    const time_point start = start_all(shared, static_cast<int>(children.size()), options);
    bool died = false;
    for (const pid_t child : children) {
        int status = 0;
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        died = died || status != 0;
    }
    if (died) return fail(errc::unavailable, "a worker's process died");
    auto out = collect(shared, options.workers);
    if (!out) return out;
    out->seconds = seconds_since(start);
    out->cpu_seconds = children_cpu_seconds() - cpu;
    if (const auto sent = shared.all().commands.load(); sent > 0) out->commands = sent;
    return out;
}

}  // namespace

std::vector<float> worker_result::pair_us() const {
    std::vector<float> both(acquire_us.size());
    std::ranges::transform(acquire_us, release_us, both.begin(), std::plus{});
    return both;
}

result<worker_result> run_workers(const std::string& url, const worker_setup& options,
                                  const worker_plan& plan) {
    return options.of == worker_setup::kind::processes ? by_processes(url, options, plan)
                                                       : by_threads(url, options, plan);
}

}  // namespace holdfast::app
