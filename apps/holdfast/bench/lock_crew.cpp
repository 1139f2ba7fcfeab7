// SPDX-License-Identifier: Apache-2.0
#include "bench/lock_crew.hpp"

#include "bench/bench_engine.hpp"
#include "lock_tasks.hpp"

#include <holdfast/holdfast.hpp>

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
#include <memory>
#include <new>
#include <thread>
#include <variant>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;
using holding = std::variant<lease, lease_set>;
using taker = std::function<result<holding>()>;

/// What one worker noted, in memory that its process may share with us.
struct notes {
    static constexpr std::size_t room = 1 << 15;

    std::uint64_t pairs;
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

// An answer as one of the two kinds of holding.
result<holding> kept(auto&& held) {
    if (!held) return std::unexpected(std::move(held.error()));
    return holding(std::move(*held));
}

taker taker_of(client& on, const crew_options& options, const std::string& name) {
    if (options.names > 1) {
        std::vector<std::string> names;
        for (int i = 0; i < options.names; ++i) names.push_back(fmt::format("{}/{}", name, i));
        return [&on, names = std::move(names)] {
            const std::vector<std::string_view> views(names.begin(), names.end());
            return kept(on.acquire_all(views));
        };
    }
    if (options.lock_kind == "shared") {
        return [m = std::make_shared<holdfast::shared_mutex>(on, name)] {
            return kept(m->acquire_shared());
        };
    }
    if (options.lock_kind == "semaphore") {
        constexpr std::uint32_t permits = 8;
        return [m = std::make_shared<holdfast::semaphore>(on, name, permits)] {
            return kept(m->acquire());
        };
    }
    return [m = std::make_shared<holdfast::mutex>(on, name)] { return kept(m->acquire()); };
}

result<void> give_back(holding&& held) {
    return std::visit([](auto& one) { return std::move(one).release(); }, held);
}

result<void> pair(const taker& take) {
    auto held = take();
    if (!held) return std::unexpected(std::move(held.error()));
    return give_back(std::move(*held));
}

result<void> timed_pair(const taker& take, notes& mine, time_point asked) {
    clock& time = system_clock();
    auto held = take();
    const time_point got = time.now();
    if (!held) return std::unexpected(std::move(held.error()));
    auto given_back = give_back(std::move(*held));
    mine.time(got - asked, time.now() - got);
    return given_back;
}

struct pace {
    time_point start;
    int workers;
    int rate;
    int timed_each = 1;

    /// When the worker's pair of that number is due.
    [[nodiscard]] time_point due(int worker, std::uint64_t number) const {
        if (rate == 0) return time_point::min();
        const double turn = static_cast<double>(number) * workers + worker;
        return start +
               std::chrono::duration_cast<duration>(std::chrono::duration<double>(turn / rate));
    }
};

void work(const taker& take, notes& mine, int id, const pace& at, time_point end) {
    clock& time = system_clock();
    result<void> done;
    while (done) {
        if (at.rate > 0) {
            const time_point due = at.due(id, mine.pairs);
            if (due >= end) return;
            std::this_thread::sleep_for(due - time.now());
            done = timed_pair(take, mine, due);
            mine.pairs += 1;
            continue;
        }
        const time_point now = time.now();
        if (now >= end) return;
        done = timed_pair(take, mine, now);
        for (int i = 1; i < at.timed_each && done; ++i) done = pair(take);
        mine.pairs += static_cast<std::uint64_t>(at.timed_each);
    }
    mine.fail_with(to_string(done.error()));
}

// Once before the clock starts, so that connections and scripts are there. Then all together.
void take_part(client& on, const board& shared, int id, const crew_options& options) {
    const taker take = taker_of(on, options, fmt::format("bench/{}", id));
    notes& mine = shared.of(id);
    const auto warm = pair(take);
    if (!warm) mine.fail_with(to_string(warm.error()));
    shared.all().ready.fetch_add(1);
    while (shared.all().start.load() == 0) std::this_thread::sleep_for(200us);
    const time_point start{duration(shared.all().start.load())};
    const pace at{start, options.workers, options.rate, options.timed_each};
    if (warm) work(take, mine, id, at, start + options.length);
}

// A worker that cannot begin is ready too: it has noted why.
time_point start_all(const board& shared, int workers, const crew_options& options) {
    const time_point patience = system_clock().now() + 20s;
    while (shared.all().ready.load() < workers && system_clock().now() < patience) {
        std::this_thread::sleep_for(200us);
    }
    if (options.when_ready) options.when_ready();
    const time_point start = system_clock().now();
    shared.all().start.store(start.time_since_epoch().count());
    return start;
}

result<crew_result> collect(const board& shared, int workers) {
    crew_result out;
    for (int id = 0; id < workers; ++id) {
        const notes& one = shared.of(id);
        if (one.failure[0] != '\0') return fail(errc::unavailable, one.failure.data());
        out.pairs += one.pairs;
        out.per_worker.push_back(one.pairs);
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

result<crew_result> by_threads(const std::string& url, const crew_options& options) {
    auto on = open(url);
    if (!on) return std::unexpected(std::move(on.error()));
    const board shared(options.workers);
    std::vector<std::jthread> threads;
    for (int id = 0; id < options.workers; ++id) {
        threads.emplace_back([&, id] { take_part(*on, shared, id, options); });
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
                                const crew_options& options, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent) {
        auto on = open(url);
        if (on) {
            take_part(*on, shared, id, options);
            shared.all().commands += commands_sent(*on).value_or(0);
        } else {
            shared.of(id).fail_with(to_string(on.error()));
            shared.all().ready.fetch_add(1);
        }
    }
    ::_exit(0);
}

result<crew_result> by_processes(const std::string& url, const crew_options& options) {
    const board shared(options.workers);
    std::fflush(nullptr);
    const pid_t parent = ::getpid();
    const double cpu = children_cpu_seconds();
    std::vector<pid_t> children;
    for (int id = 0; id < options.workers; ++id) {
        const pid_t child = ::fork();
        if (child == 0) live_as_child(url, shared, id, options, parent);
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

result<crew_result> by_tasks(const std::string& url, const crew_options& options) {
    if (options.lock_kind != "mutex" || options.names > 1 || options.when_ready) {
        return fail(errc::unsupported, "--tasks: coroutines are measured with one mutex each");
    }
    auto on = open(url);
    if (!on) return std::unexpected(std::move(on.error()));
    std::vector<std::unique_ptr<holdfast::mutex>> names;
    for (int id = 0; id < options.workers; ++id) {
        names.push_back(std::make_unique<holdfast::mutex>(*on, fmt::format("bench/{}", id)));
    }
    if (auto warm = pair([&] { return kept(names.front()->acquire()); }); !warm) {
        return std::unexpected(std::move(warm.error()));
    }
    const double cpu = own_cpu_seconds();
    const auto sent = commands_sent(*on);
    const time_point start = system_clock().now();
    const pace at{start, options.workers, options.rate, options.timed_each};
    auto logs = bench::lock_pairs_by_coroutines(
        names, options.length,
        [&](int task, std::uint64_t number) { return at.due(task, number); });
    if (!logs) return std::unexpected(std::move(logs.error()));
    crew_result out;
    out.seconds = seconds_since(start);
    out.cpu_seconds = own_cpu_seconds() - cpu;
    if (sent) out.commands = *commands_sent(*on) - *sent;
    for (const auto& one : *logs) {
        out.pairs += one.pairs;
        out.per_worker.push_back(one.pairs);
        out.acquire_us.insert(out.acquire_us.end(), one.acquire_us.begin(), one.acquire_us.end());
        out.release_us.insert(out.release_us.end(), one.release_us.begin(), one.release_us.end());
    }
    return out;
}

}  // namespace

std::vector<std::string> lock_kinds() {
    return {"mutex", "shared", "semaphore"};
}

result<crew_result> run_lock_crew(const std::string& url, const crew_options& options) {
    using kind = crew_options::kind;
    auto out = options.of == kind::processes ? by_processes(url, options)
               : options.of == kind::tasks   ? by_tasks(url, options)
                                             : by_threads(url, options);
    if (!out) return out;
    out->pair_us.resize(out->acquire_us.size());
    std::ranges::transform(out->acquire_us, out->release_us, out->pair_us.begin(), std::plus{});
    return out;
}

}  // namespace holdfast::app
