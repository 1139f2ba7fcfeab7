// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/client.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Workers that want one and the same name, as threads, as processes or as coroutines: all of them
/// for themselves, or one of them, the writer, among readers.
///
/// What they note is in memory that all of them share, so that all kinds run the same code. Times
/// are the machine's own clock, which is one for all processes; a worker that gets the name
/// compares it with the moment that the last holder noted before it let go.
namespace holdfast::app {

struct contest_options {
    int workers = 8;
    int processes = 0;     ///< With a client each, which the workers share out; 0: threads here.
    bool tasks = false;    ///< Coroutines on one thread.
    bool permit = false;   ///< Of a semaphore that has one; otherwise of a mutex.
    bool readers = false;  ///< All but the first want it shared.
    duration hold{};
    duration pause{};
    std::uint32_t local_passes = 0;
    duration length = std::chrono::seconds(1);
};

/// What one worker noted.
struct contest_notes {
    static constexpr std::size_t room = 1 << 16;

    std::uint64_t acquired;
    std::array<float, room> acquire_us;  ///< With the wait in line; the first `room` are kept,
    std::array<float, room> release_us;  ///< … and of these too.
    std::uint64_t samples;               ///< Handoffs timed; the first `room` of them are kept.
    std::array<float, room> handoff_us;
    std::uint64_t waits;  ///< Of a writer among readers; the first `room` of them are kept.
    std::array<float, room> wait_us;
    double longest_wait_us;
    double held_us;                 ///< All together.
    std::array<char, 200> failure;  ///< Empty if all went well.
};

/// The memory that the workers share.
class contest_table {
public:
    /// Throws std::bad_alloc.
    explicit contest_table(int workers);
    contest_table(const contest_table&) = delete;
    contest_table& operator=(const contest_table&) = delete;
    ~contest_table();

    struct head {
        std::atomic<std::int64_t> released_at;  ///< When the last holder was about to let go.
        std::atomic<std::int64_t> end;          ///< When it is over; 0 before the start.
        std::atomic<int> ready;
        std::atomic<std::uint64_t> commands;  ///< Sent by all, if the engine is a Redis.
    };
    [[nodiscard]] head& all() noexcept { return *head_; }
    [[nodiscard]] contest_notes& of(int worker) noexcept { return notes_[worker]; }

private:
    std::size_t bytes_;
    void* memory_;
    head* head_;
    contest_notes* notes_;
};

/// One turn of one worker: what it notes of it. Times are when it asked and when it got the name.
class contest_turn {
public:
    contest_turn(contest_table& table, int worker, const contest_options& options);

    [[nodiscard]] time_point end() const { return end_; }
    /// How a name is asked for by one who asks now.
    [[nodiscard]] acquire_options how(time_point asked) const;

    /// It has the name. Answers for how long to hold it; nothing if the contest is over.
    [[nodiscard]] std::optional<duration> got(time_point asked, time_point now);
    /// It is about to let go,
    void letting_go(time_point now);
    /// … and has.
    void released(time_point now);
    void failed(const error& why);

private:
    contest_table& table_;
    contest_notes& mine_;
    const contest_options& options_;
    bool writer_;
    time_point end_;
    time_point asked_{};
    time_point got_{};
    time_point letting_go_{};
    bool counted_ = false;
};

/// Waits until all workers are ready.
void wait_for_start(contest_table& table);

/// The workers as coroutines on this thread, from the start to the end.
void compete_as_tasks(client& on, contest_table& table, const contest_options& options);

/// The name that all of them want.
inline constexpr std::string_view contest_name = "bench/handoff";

struct contest_result {
    double seconds = 0;
    std::vector<std::uint64_t> acquired;  ///< By each worker.
    std::vector<float> acquire_us;
    std::vector<float> release_us;
    std::vector<float> handoff_us;
    std::vector<float> wait_us;  ///< The writer's, among readers …
    double longest_wait_us = 0;  ///< … and the longest,
    double mean_reader_us = 0;   ///< … and how long a reader held it, in the mean.
    std::uint64_t commands = 0;  ///< Sent by all, if the engine is a Redis.
};

/// Errors: the first that a worker met.
/// Requires: for processes, this process has no other thread.
[[nodiscard]] result<contest_result> run_contest(const std::string& url,
                                                 const contest_options& options);

}  // namespace holdfast::app
