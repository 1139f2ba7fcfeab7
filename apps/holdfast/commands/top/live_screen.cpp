// SPDX-License-Identifier: Apache-2.0
#include "commands/top/live_screen.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace holdfast::app {

live_screen::live_screen() {
    reads_keys_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    enter();
}

void live_screen::enter() {
    if (entered_) return;
    entered_ = true;
    if (reads_keys_) {
        termios raw = before_;
        raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    fmt::print("\x1b[?1049h\x1b[?25l");
    std::fflush(stdout);
}

void live_screen::leave() {
    if (!entered_) return;
    entered_ = false;
    fmt::print("\x1b[?25h\x1b[?1049l");
    std::fflush(stdout);
    if (reads_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void live_screen::show(const std::vector<std::string>& lines) const {
    std::string text = "\x1b[H";
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i > 0) text += "\r\n";
        text.append(lines[i]).append("\x1b[K");
    }
    text += "\x1b[J";
    fmt::print("{}", text);
    std::fflush(stdout);
}

}  // namespace holdfast::app
