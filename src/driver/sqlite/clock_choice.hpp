// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

/// Decides which clock a file has, when a process opens it. Pure: no file, no time of its own.
///
/// A file has one time, and all that use it must agree on it. It may never go back, or a fence
/// would; and it may not leap while somebody could hold a lease, or that lease would end before its
/// holder knows. The time is the machine's clock since its boot plus a number, `ahead`, that is in
/// the file. So the question is whether the number still fits:
///
/// - Others use the file right now. They run on the same kernel, so the number fits for us too,
///   whatever our boot id says. If the time would be behind one that was noted, our clock is not
///   theirs, and we are refused.
/// - Nobody uses it, and the time would be behind one that was noted: the machine has started anew,
///   also if the id is the same. A new number is chosen, past all times that were noted.
/// - Nobody uses it, and the time goes on. With the same id it is the same boot. With another id
///   that cannot be known: a container with an id of its own, or a boot that runs for longer than
///   the one before. Then the time leaps past all that was given out since the last note, and all
///   that is in the file leaps with it: no lease ends sooner by it, and no fence goes back.
///
/// All times are µs.
namespace holdfast::sqlite {

/// How often the time is noted by those that use the file, and how far beyond the last note a time
/// may have been given out.
inline constexpr std::int64_t note_pause = 5'000'000;
inline constexpr std::int64_t note_margin = 30'000'000;

/// What the file says.
struct noted_clock {
    std::string boot;
    std::int64_t ahead = 0;  ///< Of the machine's clock.
    std::int64_t seen = 0;   ///< The latest time that was noted.
    std::int64_t born = 0;   ///< When the machine started, by its time of day at that note.
};

/// What this process reads.
struct clock_reading {
    std::string boot;
    std::int64_t since_boot = 0;  ///< By the machine's clock.
    std::int64_t day = 0;         ///< The time of day, since 1970.
};

struct clock_question {
    std::optional<noted_clock> noted;  ///< Nothing in a new file.
    clock_reading now;
    bool used_by_others = false;
    std::int64_t largest_fence = 0;  ///< That is in the file.
};

enum class clock_verdict : std::uint8_t { keep, start, refuse };

struct clock_choice {
    clock_verdict verdict = clock_verdict::keep;
    std::int64_t ahead = 0;
    /// start: by how much every end that is in the file moves with the time.
    std::int64_t shift = 0;
    /// refuse: by how much our clock is behind.
    std::int64_t behind = 0;
};

[[nodiscard]] clock_choice choose_clock(const clock_question& asked);

}  // namespace holdfast::sqlite
