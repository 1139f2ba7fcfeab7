// SPDX-License-Identifier: Apache-2.0
//
// holdfast lock watch: a line for each change, as it is seen.
#include "commands/lock/lease_changes.hpp"
#include "commands/lock/lease_text.hpp"
#include "commands/lock/lock.hpp"
#include "core/json_text.hpp"
#include "error_output.hpp"
#include "option_types.hpp"
#include "printable.hpp"
#include "terminal.hpp"
#include "time_text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;

struct watch_options : lock_look_options {
    duration every = 500ms;
    duration length = forever;
};

paint colour_of(lease_change::kind type) {
    switch (type) {
        case lease_change::kind::held: return paint::plain;
        case lease_change::kind::acquired: return paint::green;
        case lease_change::kind::handed_off: return paint::cyan;
        case lease_change::kind::left: return paint::dim;
        case lease_change::kind::waiting: return paint::yellow;
        case lease_change::kind::evicted: return paint::red;
        case lease_change::kind::free: return paint::dim;
    }
    return paint::plain;
}

/// Tells whether a holding that ended was taken away, and with which words.
///
/// An engine remembers that for a while, by clients. What was told already is not told again when
/// the same client has held the name once more, and given it back.
class break_watch {
public:
    explicit break_watch(client& on) : on_(on) {}

    /// Nothing if it was not, or the engine does not say.
    [[nodiscard]] std::optional<std::string> reason_for(const lease_change& change) {
        if (!change.before.held()) return std::nullopt;
        const auto known = on_.evictions(change.now.name);
        if (!known) return std::nullopt;
        std::optional<std::string> reason;
        for (const holder_info& one : change.before.holders) {
            const std::pair who(change.now.name, one.client);
            const std::size_t told = told_.contains(who) ? told_[who] : 0;
            std::size_t count = 0;
            for (const eviction_info& taken : *known) {
                if (taken.client == one.client && ++count > told) reason = taken.reason;
            }
            if (count > 0) {
                told_[who] = count;
            } else {
                told_.erase(who);
            }
        }
        return reason;
    }

private:
    client& on_;
    std::map<std::pair<std::string, std::string>, std::size_t> told_;
};

std::string in_words(const lease_change& change, const std::string& reason) {
    using kind = lease_change::kind;
    const lease_info& it = change.now;
    if (change.type == kind::free) return "";
    if (change.type == kind::waiting) return fmt::format("{} wait", it.waiters);
    if (change.type == kind::evicted) {
        return fmt::format("evicted {}: {}", show_holders(it), printable(reason));
    }
    std::string text;
    if (it.mode.type != lease_mode::kind::exclusive) text = show_mode(it.mode) + ", ";
    text += fmt::format("{}, {}", show_holders(it), show_ending(it.remaining));
    if (it.fence.value != 0) text += fmt::format(", fence {}", it.fence.value);
    if (it.waiters != 0) text += fmt::format(", {} wait", it.waiters);
    return text;
}

void print(const lease_change& change, const std::string& reason, const watch_options& options,
           const terminal& out) {
    const wall_time now = system_clock().wall();
    const lease_info& it = change.now;
    if (options.format == "json") {
        detail::json_object line;
        line.put("time", show_moment(now));
        line.put("change", to_string(change.type));
        if (change.type == lease_change::kind::evicted) line.put("reason", reason);
        line.raw("lease", to_json(it));
        fmt::print("{}\n", line.text());
        return;
    }
    const std::string text = in_words(change, reason);
    fmt::print("{}  {} {}{}{}\n", show_time_of_day(now),
               out.in(colour_of(change.type), fmt::format("{:<11}", to_string(change.type))),
               printable(it.name), text.empty() ? "" : "  ", text);
}

exit_code watch(const watch_options& options) {
    auto on = open_shared(options.engine, purpose::look);
    if (!on) return complain(on.error());
    const terminal out = terminal::of(STDOUT_FILENO);
    clock& time = system_clock();
    const time_point end =
        options.length == forever ? time_point::max() : time.now() + options.length;
    std::vector<lease_info> before;
    break_watch breaks(*on);
    bool first = true;
    bool away = false;
    while (true) {
        const auto seen = on->list(options.name);
        if (seen) {
            for (lease_change& change : changes_between(before, *seen)) {
                if (first) change.type = lease_change::kind::held;
                const auto reason = breaks.reason_for(change);
                if (reason) {
                    print({lease_change::kind::evicted, change.before, {}}, *reason, options, out);
                }
                print(change, "", options, out);
            }
            std::fflush(stdout);
            before = *seen;
            first = false;
        } else if (!away) {
            const exit_code code = complain(seen.error());
            if (code != exit_code::unknown) return code;
        }
        away = !seen;
        const time_point now = time.now();
        if (now >= end || std::ferror(stdout) != 0) break;
        const auto nap = std::min<duration>(options.every, end - now);
        ::poll(nullptr, 0,
               static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(nap).count()));
    }
    return away ? exit_code::unknown : exit_code::success;
}

}  // namespace

void add_lock_watch(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<watch_options>();
    CLI::App* words = to.add_subcommand("watch", "Print each change as it is seen");
    words->add_option("PREFIX", options->name, "Only names that begin so");
    add_span(*words, "--every", options->every, "How often to poll", 10ms);
    add_wait(*words, "--for", options->length, "How long to watch, or forever");
    add_look_options(*words, *options);
    words->footer(
        "Example:\n"
        "  holdfast lock watch orders/ --format json\n"
        "\n"
        "It polls: changes that begin and end between two polls are not seen.\n"
        "Changes: held (at the first poll), acquired, handed off, left (one of several), "
        "waiting, evicted (with its reason), free.\n"
        "Exit codes: 0 when its time is over, 2 misuse, 5 no answer at the end\n");
    all.push_back({.words = words, .run = [options] { return watch(*options); }});
}

}  // namespace holdfast::app
