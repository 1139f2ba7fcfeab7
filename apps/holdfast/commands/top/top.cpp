// SPDX-License-Identifier: Apache-2.0
//
// holdfast top: a live view of an engine.
//
// On a terminal it is drawn until somebody quits; elsewhere it prints one picture, or as many as
// --frames says, as plain text. An engine that is away is said on the screen, and looked for again.
#include "command_line.hpp"
#include "commands/top/frame.hpp"
#include "commands/top/live_screen.hpp"
#include "engine_choice.hpp"
#include "error_messages.hpp"
#include "error_output.hpp"
#include "option_types.hpp"
#include "process/signal_inbox.hpp"
#include "terminal.hpp"
#include "time_text.hpp"

#include <holdfast/engine/url.hpp>
#include <holdfast/tasks/task_store.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;

struct top_options {
    engine_options engine;
    std::string prefix;
    duration every = 1s;
    int frames = 0;
};

// The masters of a Cluster, and the servers of a quorum, count each for itself.
bool is_one_server(std::string_view text) {
    const auto where = parse_url(text);
    return where && where->scheme.starts_with("redis") && !where->scheme.ends_with("-cluster");
}

class top_command {
public:
    top_command(const top_options& options, client& on, std::string_view url)
        : options_(options), on_(on), meter_(is_one_server(url)) {
        if (auto tasks = open_tasks(url, {.timeout = 2s, .create = false})) {
            tasks_ = std::move(*tasks);
        }
        view_.engine = redacted(url);
        view_.rates.from_counter = view_.rates.expired_from_counter = is_one_server(url);
    }

    [[nodiscard]] exit_code print_frames();

    /// Answers the signal that ended it, if one did.
    [[nodiscard]] std::optional<int> live(signal_inbox& signals);

private:
    void look();
    void look_at_tasks();
    /// Waits for the next picture; false when it is over.
    [[nodiscard]] bool wait(signal_inbox& signals, live_screen& screen, std::optional<int>& asked);

    const top_options& options_;
    client& on_;
    pulse_meter meter_;
    top_view view_;
    std::optional<error> trouble_;  ///< Of the last look.
    std::optional<task_store> tasks_;
    time_point next_tasks_{};
};

void top_command::look() {
    view_.time = show_time_of_day(system_clock().wall());
    auto seen = on_.list(options_.prefix);
    if (!seen) {
        view_.trouble = plain_words(seen.error().detail);
        trouble_ = std::move(seen.error());
        return;
    }
    trouble_.reset();
    view_.trouble.clear();
    view_.leases = std::move(*seen);
    view_.rates = meter_.measure(on_, view_.leases);
    std::map<std::string, duration> full;
    for (const lease_info& one : view_.leases) {
        const auto before = view_.full.find(one.name);
        const duration most = before == view_.full.end() ? duration::zero() : before->second;
        full[one.name] = std::max(most, one.remaining.value_or(duration::zero()));
    }
    view_.full = std::move(full);
    look_at_tasks();
}

// Most engines keep none: then it is not asked again and again.
void top_command::look_at_tasks() {
    const time_point now = system_clock().now();
    if (!tasks_ || now < next_tasks_) return;
    auto running = tasks_->list({.state = task_state::running});
    if (!running) {
        next_tasks_ = now + 10s;
        view_.tasks.clear();
        return;
    }
    view_.tasks = std::move(*running);
}

exit_code top_command::print_frames() {
    const terminal out = terminal::of(STDOUT_FILENO);
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(options_.every).count();
    for (int i = 0; i < std::max(1, options_.frames); ++i) {
        if (i > 0) ::poll(nullptr, 0, static_cast<int>(ms));
        look();
        for (const std::string& line : draw(view_, {out.width(), 1000}, out)) {
            fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
        }
        fmt::print("\n");
        std::fflush(stdout);
    }
    // In the picture it may be cut.
    return trouble_ ? complain(*trouble_) : exit_code::success;
}

std::optional<int> top_command::live(signal_inbox& signals) {
    live_screen screen;
    view_.hint = "q quits";
    std::optional<int> asked;
    int shown = 0;
    do {
        look();
        const terminal out = terminal::of(STDOUT_FILENO);
        screen.show(draw(view_, {out.width(), out.height()}, out));
        ++shown;
    } while (shown != options_.frames && wait(signals, screen, asked));
    return asked;
}

bool top_command::wait(signal_inbox& signals, live_screen& screen, std::optional<int>& asked) {
    const time_point next = system_clock().now() + options_.every;
    while (true) {
        const time_point now = system_clock().now();
        if (now >= next) return true;
        const auto ms = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
        std::array<pollfd, 2> seen{pollfd{signals.readable(), POLLIN, 0},
                                   pollfd{STDIN_FILENO, POLLIN, 0}};
        ::poll(seen.data(), seen.size(), static_cast<int>(ms));
        while (const auto signal = signals.next()) {
            if (asks_to_end(*signal)) {
                asked = *signal;
                return false;
            }
            if (*signal == SIGTSTP) {
                screen.leave();
                ::kill(::getpid(), SIGSTOP);
                screen.enter();
            }
            if (*signal == SIGWINCH || *signal == SIGTSTP) return true;  // draw at once
        }
        if (seen[1].revents == 0) continue;
        char key = 0;
        if (::read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q') return false;
    }
}

exit_code run_top(const top_options& options) {
    const auto url = chosen_engine(options.engine, purpose::look);
    if (!url) return complain(url.error());
    const bool live = terminal::of(STDOUT_FILENO).interactive() && ::isatty(STDIN_FILENO) == 1;
    auto signals = live ? signal_inbox::open() : result<signal_inbox>(fail(errc::unsupported, ""));
    if (live && !signals) return complain(signals.error());
    std::optional<int> asked;
    {
        auto on = open_shared(options.engine, purpose::look);
        if (!on) return complain(on.error());
        top_command top(options, *on, *url);
        if (!live) return top.print_frames();
        asked = top.live(*signals);
    }
    if (asked) signals->die_of(*asked);
    return exit_code::success;
}

}  // namespace

void add_top(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<top_options>();
    CLI::App* words = to.add_subcommand("top", "Watch an engine live: leases, waiters, rates");
    words->add_option("PREFIX", options->prefix, "Only names that begin so");
    add_span(*words, "--every", options->every, "How often to poll", 10ms);
    add_whole(*words, "--frames", options->frames, {0, 1'000'000}, "End after N frames")
        ->default_str("until q");
    add_engine_options(*words, options->engine);
    words->footer(
        "Example:\n"
        "  holdfast top orders/ --every 500ms\n"
        "\n"
        "A bar shows the remaining time of a lease, relative to the most that was seen. 'acquired' "
        "counts all grants of a Redis server, by its fence counter, and 'expired' its keys that "
        "nobody released in time, lost leases among them; 'hits' is the share of its reads that "
        "find their key. Elsewhere only differences between two "
        "polls are counted, as 'seen'.\n"
        "Of a database that keeps tasks, those that run are shown too.\n"
        "If the output is not a terminal, one frame is printed as plain text.\n"
        "Exit codes: 0 done, 2 misuse, 5 no answer\n");
    all.push_back({.words = words, .run = [options] { return run_top(*options); }});
}

}  // namespace holdfast::app
