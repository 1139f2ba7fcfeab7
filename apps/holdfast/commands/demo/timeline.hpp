// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "terminal.hpp"

#include <holdfast/clock.hpp>

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

/// What happens to several actors, told as it happens.
///
/// On a terminal it is a chart: time runs down, one column for each actor, and the bar in front of
/// it shows whether it holds. Elsewhere each event is a line of plain text. Thread safety: all
/// members may be called from any thread.
namespace holdfast::app {

enum class actor : std::uint8_t { ana, ben, store };

/// What an actor's bar shows, from this event on.
enum class bar : std::uint8_t { idle, waits, holds, shaky };

class timeline {
public:
    timeline(const terminal& out, clock& time);

    /// A heading above the events that follow.
    void chapter(std::string_view title);

    /// At `when`, this happened to `who`.
    void say(time_point when, actor who, bar now, std::string_view what);

private:
    void say_plainly(double ms, actor who, std::string_view what);
    void say_in_columns(double ms, actor who, std::string_view what);
    [[nodiscard]] std::string bar_of(actor who) const;

    const terminal out_;
    const time_point start_;
    const int column_;
    std::mutex mutex_;
    std::array<bar, 3> bars_{};
};

/// The text in lines of at most `width` columns, broken between words.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, int width);

}  // namespace holdfast::app
