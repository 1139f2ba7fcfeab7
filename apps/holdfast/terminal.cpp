// SPDX-License-Identifier: Apache-2.0
#include "terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace holdfast::app {
namespace {

std::string_view setting_of(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
    return value == nullptr ? std::string_view{} : std::string_view(value);
}

std::string_view code_of(paint colour) {
    switch (colour) {
        case paint::plain: return "";
        case paint::bold: return "1";
        case paint::dim: return "2";
        case paint::red: return "31";
        case paint::green: return "32";
        case paint::yellow: return "33";
        case paint::blue: return "34";
        case paint::magenta: return "35";
        case paint::cyan: return "36";
    }
    return "";
}

}  // namespace

terminal terminal::of(int descriptor) {
    terminal seen;
    seen.interactive_ = ::isatty(descriptor) == 1 && setting_of("TERM") != "dumb";
    seen.colour_ = seen.interactive_ && setting_of("NO_COLOR").empty();
    winsize size{};
    if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0) {
        if (size.ws_col > 0) seen.width_ = size.ws_col;
        if (size.ws_row > 0) seen.height_ = size.ws_row;
    }
    return seen;
}

std::string terminal::in(paint colour, std::string_view text) const {
    const std::string_view code = code_of(colour);
    if (!colour_ || code.empty()) return std::string(text);
    std::string out = "\x1b[";
    out.append(code).append("m").append(text).append("\x1b[0m");
    return out;
}

}  // namespace holdfast::app
