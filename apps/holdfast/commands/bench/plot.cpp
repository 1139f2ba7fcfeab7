// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/plot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace holdfast::app {
namespace {

constexpr int width = 860;
constexpr int left = 24;
constexpr int widest_bar = 560;
constexpr int bar_height = 16;
constexpr int block_height = 104;
constexpr int head_height = 48;

constexpr std::string_view ours_colour = "#0b6e99";
constexpr std::string_view reference_colour = "#b8bfc6";

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '&': out += "&amp;"; break;
            case '"': out += "&quot;"; break;
            default: out += c;
        }
    }
    return out;
}

std::string text_at(int x, int y, std::string_view text, std::string_view style = "") {
    return fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>\n", x, y, style.empty() ? "" : " ",
                       style, escaped(text));
}

std::string bar(int y, double value, double most, std::string_view colour, std::string_view said) {
    const int length = std::max(1, static_cast<int>(widest_bar * value / most));
    return fmt::format(
               "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\" fill=\"{}\"/>\n", left,
               y, length, bar_height, colour) +
           text_at(left + length + 8, y + bar_height - 4, said);
}

std::string latency_line(const figure& f) {
    std::string out;
    const auto add = [&](std::string_view name, const std::optional<percentiles>& seen) {
        if (!seen) return;
        out += fmt::format("{}{} p50 {:.3g} us, p99 {:.3g} us", out.empty() ? "" : "   ", name,
                           seen->p50, seen->p99);
    };
    add("acquire", f.acquire_us);
    add("release", f.release_us);
    add("pair", f.pair_us);
    add("handoff", f.handoff_us);
    return out;
}

// One figure's part of the picture. Each has a scale of its own: their units differ.
std::string block(const figure& f, int y) {
    std::string out = text_at(left, y,
                              fmt::format("{} on {}, {} worker{}", f.bench, f.engine, f.workers,
                                          f.workers == 1 ? "" : "s"),
                              "font-weight=\"600\"");
    const double ours = f.per_second.value_or(0);
    const double theirs = f.reference ? f.reference->per_second : 0;
    const double most = std::max({ours, theirs, 1e-9});
    if (f.per_second) {
        const std::string ratio = f.ratio ? fmt::format(" ({:.2f} x)", *f.ratio) : "";
        out += bar(y + 10, ours, most, ours_colour, fmt::format("{:.4g}/s{}", ours, ratio));
    }
    if (f.reference) {
        out += bar(y + 12 + bar_height, theirs, most, reference_colour,
                   fmt::format("{:.4g}/s", theirs));
        out += text_at(left, y + 30 + 2 * bar_height, "grey: " + f.reference->name,
                       "fill=\"#57606a\"");
    }
    out += text_at(left, y + 46 + 2 * bar_height, latency_line(f), "fill=\"#57606a\"");
    return out;
}

}  // namespace

std::string to_svg(const std::vector<figure>& figures) {
    const int height = head_height + block_height * static_cast<int>(figures.size());
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#1f2328\">\n"
        "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
        width, height);
    int y = head_height - 12;
    for (const figure& f : figures) {
        out += block(f, y);
        y += block_height;
    }
    return out + "</svg>\n";
}

namespace {

std::string cannot_write(const std::string& file, int why) {
    return fmt::format("--plot: cannot write {}: {}", file, std::generic_category().message(why));
}

bool may(const std::filesystem::path& place, int what) {
    return ::faccessat(AT_FDCWD, place.c_str(), what, AT_EACCESS) == 0;
}

}  // namespace

// Not by opening it: that would make the file, and a reader at a pipe would take it for the end.
result<void> can_draw(const std::string& file) {
    const std::filesystem::path place(file);
    std::error_code ignored;
    int why = 0;
    if (std::filesystem::is_directory(place, ignored)) {
        why = EISDIR;
    } else if (!may(place, W_OK)) {
        why = errno;
        const std::filesystem::path folder = place.has_parent_path() ? place.parent_path() : ".";
        if (why == ENOENT) why = may(folder, W_OK | X_OK) ? 0 : errno;
    }
    if (why == 0) return {};
    return fail(errc::invalid_argument, cannot_write(file, why));
}

result<void> draw(const std::vector<figure>& figures, const std::string& file) {
    errno = 0;
    std::ofstream out(file);
    out << to_svg(figures) << std::flush;
    if (out) return {};
    return fail(errc::unavailable, cannot_write(file, errno != 0 ? errno : EIO));
}

}  // namespace holdfast::app
