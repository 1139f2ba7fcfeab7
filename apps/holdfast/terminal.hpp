// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Whether a person looks at a stream, and how it may be painted.
///
/// Colour is for a terminal only, and never when NO_COLOR is set (no-color.org) or TERM is "dumb":
/// a pipe gets plain text.
namespace holdfast::app {

enum class paint : std::uint8_t { plain, bold, dim, red, green, yellow, blue, magenta, cyan };

class terminal {
public:
    /// Looks at a stream of this process: STDOUT_FILENO or STDERR_FILENO.
    [[nodiscard]] static terminal of(int descriptor);

    /// Is it a terminal that can move its cursor?
    [[nodiscard]] bool interactive() const noexcept { return interactive_; }

    /// Columns; 80 if nobody knows.
    [[nodiscard]] int width() const noexcept { return width_; }

    /// Rows; 24 if nobody knows.
    [[nodiscard]] int height() const noexcept { return height_; }

    /// The text in that colour, or as it is where there is none.
    [[nodiscard]] std::string in(paint colour, std::string_view text) const;

private:
    bool interactive_ = false;
    bool colour_ = false;
    int width_ = 80;
    int height_ = 24;
};

}  // namespace holdfast::app
