// SPDX-License-Identifier: Apache-2.0
#include "bench/contest.hpp"

#include "bench/bench_engine.hpp"

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

void wait_for_start(contest_table& table) {
    table.all().ready.fetch_add(1);
    while (table.all().end.load() == 0) std::this_thread::sleep_for(1ms);
}

// Only who was in line when the last holder let go has timed a hand-over.
void note_handoff(contest_table& table, contest_notes& mine, time_point asked, time_point got) {
    const std::int64_t released = table.all().released_at.load();
    if (released <= count_of(asked)) return;
    const auto index = mine.samples++;
    if (index >= contest_notes::room) return;
    mine.handoff_us[index] = static_cast<float>(count_of(got) - released) / 1000.0F;
}

void compete(client& on, contest_table& table, int id, const contest_options& options) {
    contest_notes& mine = table.of(id);
    holdfast::mutex name(on, "bench/handoff");
    wait_for_start(table);
    clock& time = system_clock();
    const time_point end{duration(table.all().end.load())};
    for (time_point asked = time.now(); asked < end; asked = time.now()) {
        auto held = name.acquire({.ttl = ttl,
                                  .wait = end - asked + patience_after_end,
                                  .local_passes = options.local_passes});
        const time_point got = time.now();
        if (!held) return note_failure(mine, to_string(held.error()));
        if (got < end) {
            note_handoff(table, mine, asked, got);
            ++mine.acquired;
            if (options.hold > duration::zero()) std::this_thread::sleep_for(options.hold);
        }
        table.all().released_at.store(count_of(time.now()));
        if (const auto gone = std::move(*held).release(); !gone) {
            return note_failure(mine, to_string(gone.error()));
        }
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
    for (int id = 0; id < options.workers; ++id) {
        const contest_notes& one = table.of(id);
        if (one.failure[0] != '\0') return fail(errc::unavailable, one.failure.data());
        out.acquired.push_back(one.acquired);
        const std::size_t kept = std::min<std::size_t>(one.samples, contest_notes::room);
        out.handoff_us.insert(out.handoff_us.end(), one.handoff_us.begin(),
                              one.handoff_us.begin() + static_cast<std::ptrdiff_t>(kept));
    }
    return out;
}

[[noreturn]] void live_as_child(const std::string& url, contest_table& table, int id,
                                const contest_options& options, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent) {
        auto on = open(url);
        if (on) {
            compete(*on, table, id, options);
            table.all().commands += commands_sent(*on).value_or(0);
        } else {
            note_failure(table.of(id), to_string(on.error()));
        }
    }
    ::_exit(0);
}

}  // namespace

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

result<contest_result> contest_of_threads(const std::string& url, const contest_options& options) {
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

result<contest_result> contest_of_processes(const std::string& url,
                                            const contest_options& options) {
    contest_table table(options.workers);
    std::fflush(nullptr);
    const pid_t parent = ::getpid();
    std::vector<pid_t> children;
    for (int id = 0; id < options.workers; ++id) {
        const pid_t child = ::fork();
        if (child == 0) live_as_child(url, table, id, options, parent);
        if (child < 0) {
            note_failure(table.of(id), "fork: " + std::generic_category().message(errno));
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

}  // namespace holdfast::app
