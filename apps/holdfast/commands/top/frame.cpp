// SPDX-License-Identifier: Apache-2.0
#include "commands/top/frame.hpp"

#include "commands/lock/lease_text.hpp"
#include "display_width.hpp"
#include "printable.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::app {
namespace {

constexpr int longest_bar = 16;
constexpr int left_columns = 10;
constexpr int waiting_columns = 7;
constexpr int fixed = left_columns + waiting_columns + 4;  // with the blanks between

/// How wide the bar is, and the two columns that hold other people's words.
struct widths {
    int name;
    int bar;
    int holder;
};

widths share_out(int columns) {
    constexpr int least_name = 8;
    const int bar = std::clamp(columns - fixed - least_name - 2, 0, longest_bar);
    const int rest = columns - fixed - bar;
    const int name = std::max(least_name, rest * 2 / 5);
    return {name, bar, std::max(0, rest - name)};
}

std::string lease_bar(const lease_info& it, const top_view& view, int wide, const terminal& out) {
    double share = 1;
    if (it.remaining) {
        const auto full = view.full.find(it.name);
        const duration whole = full == view.full.end() ? *it.remaining : full->second;
        share = whole <= duration::zero() ? 0
                                          : static_cast<double>(it.remaining->count()) /
                                                static_cast<double>(whole.count());
    }
    const int lit = std::clamp(static_cast<int>(share * wide + 0.5), 0, wide);
    const paint colour = share > 0.5 ? paint::green : share > 0.2 ? paint::yellow : paint::red;
    return out.in(colour, repeated("━", lit)) + out.in(paint::dim, repeated("─", wide - lit));
}

std::string show_rate(const std::optional<double>& value, bool at_least = false) {
    return value ? fmt::format("{}{:.1f}/s", at_least ? "≥" : "", *value) : std::string("–");
}

// At least so wide that what follows mostly stays where it is.
std::string padded(const std::string& rate) {
    return fit(rate, std::max(6, columns(rate)));
}

// A loss is rare, and the rate of one look is gone with the next.
std::string in_all(std::uint64_t count) {
    return count == 0 ? std::string() : fmt::format(", {} so far", count);
}

std::string row(const lease_info& it, const top_view& view, widths wide, const terminal& out) {
    const std::string waiting = it.waiters == 0 ? "" : std::to_string(it.waiters);
    return fit(printable(it.name), wide.name) + " " + lease_bar(it, view, wide.bar, out) + " " +
           fit(show_left(it.remaining), left_columns) + " " +
           out.in(paint::yellow, fit(waiting, waiting_columns)) + " " +
           fit(show_holders(it), wide.holder);
}

// The names that most wait for come first.
std::vector<lease_info> by_interest(std::vector<lease_info> leases) {
    std::ranges::sort(leases, [](const lease_info& one, const lease_info& other) {
        if (one.waiters != other.waiters) return one.waiters > other.waiters;
        return one.name < other.name;
    });
    return leases;
}

std::string task_line(const task_info& task, widths wide, const terminal& out) {
    const int lit = std::clamp(static_cast<int>(task.progress * wide.bar + 0.5), 0, wide.bar);
    const std::string bar = out.in(paint::green, repeated("━", lit)) +
                            out.in(paint::dim, repeated("─", wide.bar - lit));
    const std::string about =
        task.queue + "  " + (task.note.empty() ? "" : task.note + "  ") + task.owner;
    return fit(printable(task.id), wide.name) + " " + bar + " " +
           fit(fmt::format("{:.0f} %", task.progress * 100), left_columns) + " " +
           fit(fmt::format("{}", task.attempt), waiting_columns) + " " +
           fit(printable(about), wide.holder);
}

// At most a third of the screen: the leases come first.
std::vector<std::string> task_lines(const top_view& view, screen_size size, const terminal& out) {
    std::vector<std::string> lines;
    if (view.tasks.empty()) return lines;
    const widths wide = share_out(size.columns);
    const auto room = static_cast<std::size_t>(std::max(1, size.rows / 3 - 3));
    lines.emplace_back();
    lines.push_back(out.in(paint::bold, fit("TASK", wide.name) + " " + fit("", wide.bar) + " " +
                                            fit("DONE", left_columns) + " " +
                                            fit("ATTEMPT", waiting_columns) + " " +
                                            fit("QUEUE, WORKER", wide.holder)));
    for (std::size_t i = 0; i < std::min(room, view.tasks.size()); ++i) {
        lines.push_back(task_line(view.tasks[i], wide, out));
    }
    if (view.tasks.size() > room) {
        lines.push_back(fmt::format("… and {} more that run", view.tasks.size() - room));
    }
    return lines;
}

}  // namespace

std::vector<std::string> draw(const top_view& view, screen_size size, const terminal& out) {
    std::uint64_t waiting = 0;
    for (const lease_info& one : view.leases) waiting += one.waiters;
    const std::string right = view.time + (view.hint.empty() ? "" : "  " + view.hint);
    std::vector<std::string> lines;
    lines.push_back(out.in(paint::bold,
                           fit("holdfast top  " + view.engine, size.columns - columns(right) - 1)) +
                    " " + right);
    const pulse& rates = view.rates;
    lines.push_back(
        fit(fmt::format("{} held, {} waiting   {} {} handed off {} {} {}{}{}", view.leases.size(),
                        waiting, rates.from_counter ? "acquired" : "seen acquired",
                        padded(show_rate(rates.acquired, rates.at_least)),
                        padded(show_rate(rates.handed_off)),
                        rates.expired_from_counter ? "expired" : "seen expired",
                        show_rate(rates.expired), in_all(rates.expired_in_all),
                        rates.hits ? fmt::format("   hits {:.0f} %", *rates.hits * 100) : ""),
            size.columns));
    lines.push_back(view.trouble.empty()
                        ? std::string()
                        : out.in(paint::red, fit(printable(view.trouble), size.columns)));
    const widths wide = share_out(size.columns);
    lines.push_back(out.in(paint::bold, fit("NAME", wide.name) + " " + fit("", wide.bar) + " " +
                                            fit("LEFT", left_columns) + " " +
                                            fit("WAITING", waiting_columns) + " " +
                                            fit("HOLDER", wide.holder)));
    const auto leases = by_interest(view.leases);
    const auto tasks = task_lines(view, size, out);
    const std::size_t room =
        static_cast<std::size_t>(std::max(1, size.rows - 5 - static_cast<int>(tasks.size())));
    for (std::size_t i = 0; i < std::min(room, leases.size()); ++i) {
        lines.push_back(row(leases[i], view, wide, out));
    }
    if (leases.size() > room) {
        lines.push_back(fmt::format("… and {} more", leases.size() - room));
    } else if (leases.empty() && view.trouble.empty()) {
        lines.push_back(out.in(paint::dim, "nothing is held"));
    }
    lines.insert(lines.end(), tasks.begin(), tasks.end());
    return lines;
}

}  // namespace holdfast::app
