// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/contest.hpp"

#include "commands/bench/bench_engine.hpp"

#include <holdfast/holdfast.hpp>

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <thread>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;

// A worker that dies while it holds would stop the others for this long.
constexpr duration ttl = 10s;

// At the end the line is drained: whoever still waits gets the name, sees that it is over, and
// gives it back uncounted. A wait that ended with the contest would cut requests short, and a
// request without an answer is trouble, not an end. So this is only for a line that does not move
// at all.
constexpr duration patience_after_end = 30s;

void note_failure(contest_notes& mine, std::string_view what) {
    const std::size_t size = std::min(what.size(), mine.failure.size() - 1);
    std::memcpy(mine.failure.data(), what.data(), size);
}

std::int64_t count_of(time_point when) {
    return when.time_since_epoch().count();
}

float microseconds(duration length) {
    return static_cast<float>(length.count()) / 1000.0F;
}

// Only who was in line when the last holder let go has timed a handoff.
void note_handoff(contest_table& table, contest_notes& mine, time_point asked, time_point got) {
    const std::int64_t released = table.all().released_at.load();
    if (released <= count_of(asked)) return;
    const auto index = mine.samples++;
    if (index >= contest_notes::room) return;
    mine.handoff_us[index] = static_cast<float>(count_of(got) - released) / 1000.0F;
}

void note_wait(contest_notes& mine, time_point asked, time_point got) {
    const double waited = static_cast<double>((got - asked).count()) / 1000.0;
    mine.longest_wait_us = std::max(mine.longest_wait_us, waited);
    if (mine.waits++ < contest_notes::room) {
        mine.wait_us[mine.waits - 1] = static_cast<float>(waited);
    }
}

using taker = std::function<result<lease>(const acquire_options&)>;

taker taker_for(client& on, int id, const contest_options& options) {
    if (options.permit) {
        return [m = std::make_shared<holdfast::semaphore>(on, contest_name, 1)](
                   const acquire_options& how) { return m->acquire(how); };
    }
    if (!options.readers) {
        return [m = std::make_shared<holdfast::mutex>(on, contest_name)](
                   const acquire_options& how) { return m->acquire(how); };
    }
    const auto both = std::make_shared<holdfast::shared_mutex>(on, contest_name);
    if (id == 0) return [both](const acquire_options& how) { return both->acquire(how); };
    return [both](const acquire_options& how) { return both->acquire_shared(how); };
}

void compete(client& on, contest_table& table, int id, const contest_options& options) {
    const taker take = taker_for(on, id, options);
    wait_for_start(table);
    contest_turn turn(table, id, options);
    clock& time = system_clock();
    for (time_point asked = time.now(); asked < turn.end(); asked = time.now()) {
        auto held = take(turn.how(asked));
        if (!held) return turn.failed(held.error());
        const auto hold = turn.got(asked, time.now());
        if (hold && *hold > duration::zero()) std::this_thread::sleep_for(*hold);
        turn.letting_go(time.now());
        if (const auto gone = std::move(*held).release(); !gone) return turn.failed(gone.error());
        turn.released(time.now());
        if (options.pause > duration::zero()) std::this_thread::sleep_for(options.pause);
    }
}

// Starts them together, when all are ready; answers when that was. A worker that fails before is
// never ready, so the wait has an end.
time_point start_all(contest_table& table, const contest_options& options) {
    const time_point patience = system_clock().now() + 10s;
    while (table.all().ready.load() < options.workers && system_clock().now() < patience) {
        std::this_thread::sleep_for(1ms);
    }
    const time_point start = system_clock().now();
    table.all().end.store(count_of(start + options.length));
    return start;
}

result<contest_result> collect(contest_table& table, const contest_options& options) {
    contest_result out;
    out.seconds = std::chrono::duration<double>(options.length).count();
    out.commands = table.all().commands.load();
    double held_us = 0;
    std::uint64_t read = 0;
    for (int id = 0; id < options.workers; ++id) {
        const contest_notes& one = table.of(id);
        if (one.failure[0] != '\0') return fail(errc::unavailable, one.failure.data());
        out.acquired.push_back(one.acquired);
        const auto timed =
            static_cast<std::ptrdiff_t>(std::min<std::size_t>(one.acquired, contest_notes::room));
        out.acquire_us.insert(out.acquire_us.end(), one.acquire_us.begin(),
                              one.acquire_us.begin() + timed);
        out.release_us.insert(out.release_us.end(), one.release_us.begin(),
                              one.release_us.begin() + timed);
        const std::size_t kept = std::min<std::size_t>(one.samples, contest_notes::room);
        out.handoff_us.insert(out.handoff_us.end(), one.handoff_us.begin(),
                              one.handoff_us.begin() + static_cast<std::ptrdiff_t>(kept));
        const std::size_t waits = std::min<std::size_t>(one.waits, contest_notes::room);
        out.wait_us.insert(out.wait_us.end(), one.wait_us.begin(),
                           one.wait_us.begin() + static_cast<std::ptrdiff_t>(waits));
        out.longest_wait_us = std::max(out.longest_wait_us, one.longest_wait_us);
        if (id == 0) continue;
        held_us += one.held_us;
        read += one.acquired;
    }
    if (options.readers && read > 0) out.mean_reader_us = held_us / static_cast<double>(read);
    return out;
}

// The workers of one process share a client: each `options.processes`-th from `first` on.
[[noreturn]] void live_as_child(const std::string& url, contest_table& table, int first,
                                const contest_options& options, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(0);
    auto on = open(url);
    if (on) {
        std::vector<std::jthread> others;
        for (int id = first + options.processes; id < options.workers; id += options.processes) {
            others.emplace_back([&, id] { compete(*on, table, id, options); });
        }
        compete(*on, table, first, options);
        others.clear();
        table.all().commands += commands_sent(*on).value_or(0);
    } else {
        note_failure(table.of(first), to_string(on.error()));
    }
    ::_exit(0);
}

result<contest_result> by_threads(const std::string& url, const contest_options& options) {
    auto on = open(url);
    if (!on) return std::unexpected(std::move(on.error()));
    contest_table table(options.workers);
    {
        std::vector<std::jthread> threads;
        for (int id = 0; id < options.workers; ++id) {
            threads.emplace_back([&, id] { compete(*on, table, id, options); });
        }
        start_all(table, options);
    }
    table.all().commands = commands_sent(*on).value_or(0);
    return collect(table, options);
}

result<contest_result> by_tasks(const std::string& url, const contest_options& options) {
    auto on = open(url);
    if (!on) return std::unexpected(std::move(on.error()));
    contest_table table(options.workers);
    table.all().ready = options.workers;
    start_all(table, options);
    compete_as_tasks(*on, table, options);
    table.all().commands = commands_sent(*on).value_or(0);
    return collect(table, options);
}

result<contest_result> by_processes(const std::string& url, const contest_options& options) {
    contest_table table(options.workers);
    std::fflush(nullptr);
    const pid_t parent = ::getpid();
    std::vector<pid_t> children;
    for (int first = 0; first < std::min(options.processes, options.workers); ++first) {
        const pid_t child = ::fork();
        if (child == 0) live_as_child(url, table, first, options, parent);
        if (child < 0) {
            note_failure(table.of(first), "fork: " + std::generic_category().message(errno));
            break;
        }
        children.push_back(child);
    }
    start_all(table, options);
    for (const pid_t child : children) {
        int status = 0;
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        if (status != 0) return fail(errc::unavailable, "a worker's process died");
    }
    return collect(table, options);
}

}  // namespace

void wait_for_start(contest_table& table) {
    table.all().ready.fetch_add(1);
    while (table.all().end.load() == 0) std::this_thread::sleep_for(1ms);
}

contest_turn::contest_turn(contest_table& table, int worker, const contest_options& options)
    : table_(table),
      mine_(table.of(worker)),
      options_(options),
      writer_(worker == 0),
      end_(duration(table.all().end.load())) {}

acquire_options contest_turn::how(time_point asked) const {
    return {.ttl = ttl,
            .wait = end_ - asked + patience_after_end,
            .local_passes = options_.local_passes};
}

std::optional<duration> contest_turn::got(time_point asked, time_point now) {
    asked_ = asked;
    got_ = now;
    counted_ = now < end_;
    if (!counted_) return std::nullopt;
    if (!options_.readers) note_handoff(table_, mine_, asked, now);
    if (options_.readers && writer_) note_wait(mine_, asked, now);
    return options_.hold;
}

void contest_turn::letting_go(time_point now) {
    letting_go_ = now;
    table_.all().released_at.store(count_of(now));
}

void contest_turn::released(time_point now) {
    if (!counted_) return;
    mine_.held_us += static_cast<double>((letting_go_ - got_).count()) / 1000.0;
    if (mine_.acquired < contest_notes::room) {
        mine_.acquire_us[mine_.acquired] = microseconds(got_ - asked_);
        mine_.release_us[mine_.acquired] = microseconds(now - letting_go_);
    }
    ++mine_.acquired;
}

void contest_turn::failed(const error& why) {
    note_failure(mine_, to_string(why));
}

contest_table::contest_table(int workers)
    : bytes_(sizeof(head) + alignof(contest_notes) +
             sizeof(contest_notes) * static_cast<std::size_t>(workers)),
      memory_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    constexpr std::size_t offset = (sizeof(head) + alignof(contest_notes) - 1) /
                                   alignof(contest_notes) * alignof(contest_notes);
    head_ = new (memory_) head{};
    // The kernel's zeros are what the notes start from; nothing needs to touch their pages.
    notes_ = reinterpret_cast<contest_notes*>(static_cast<std::byte*>(memory_) + offset);
}

contest_table::~contest_table() {
    ::munmap(memory_, bytes_);
}

result<contest_result> run_contest(const std::string& url, const contest_options& options) {
    if (options.tasks) return by_tasks(url, options);
    return options.processes > 0 ? by_processes(url, options) : by_threads(url, options);
}

}  // namespace holdfast::app
