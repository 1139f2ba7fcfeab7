// SPDX-License-Identifier: Apache-2.0
//
// holdfast run: runs a command while it holds a lease.
//
// Standard output is the command's own. What this says itself goes to stderr, and if all goes well
// it says nothing. Its order matters: the signals are taken over and the guardian is started while
// there is one thread; then the engine is opened, which starts others.
#include "command_line.hpp"
#include "commands/lock/lease_text.hpp"
#include "commands/run/interruptible_wait.hpp"
#include "commands/run/run_conditions.hpp"
#include "commands/run/run_options.hpp"
#include "commands/run/semaphore_size.hpp"
#include "error_output.hpp"
#include "option_types.hpp"
#include "process/supervision.hpp"
#include "time_text.hpp"

#include <holdfast/client.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;

duration grace_of(const run_options& options) {
    return options.grace.value_or(std::min<duration>(options.ttl / 3, 10s));
}

result<void> check(const run_options& options) {
    if (options.words.empty()) {
        return fail(
            errc::invalid_argument,
            fmt::format("name a command after --: holdfast run {} -- COMMAND …", options.name));
    }
    if (options.shared && options.semaphore > 0) {
        return fail(errc::invalid_argument, "use --shared or --semaphore, not both");
    }
    if (options.resize && options.semaphore == 0) {
        return fail(errc::invalid_argument, "--resize needs --semaphore N");
    }
    if (grace_of(options) > options.ttl / 2) {
        return fail(errc::invalid_argument,
                    "--grace must be at most half of --ttl: it is taken from the lease's end");
    }
    if (const auto name = lock_name::make(options.name); !name) {
        return std::unexpected(name.error());
    }
    return {};
}

class run_job {
public:
    run_job(const run_options& options, signal_inbox& signals, guardian& guard)
        : options_(options), guard_(guard), signals_(signals), waiting_(signals) {}

    [[nodiscard]] exit_code run();

    /// The signal that ended it before the command ran, if one did.
    [[nodiscard]] std::optional<int> asked_to_end() const { return waiting_.asked_to_end(); }

private:
    [[nodiscard]] exit_code refused(const error& why, client& on) const;
    [[nodiscard]] exit_code refused_by_gate(const error& why) const;
    [[nodiscard]] exit_code with_lease(lease held, gates& gate);
    [[nodiscard]] exit_code cannot_start(int why) const;
    [[nodiscard]] exit_code release(lease held, const supervision::ending& end) const;
    void tell(std::string_view sentence) const {
        if (complains_in_detail()) complain(sentence);
    }

    const run_options& options_;
    guardian& guard_;
    signal_inbox& signals_;
    patience waiting_;
};

exit_code run_job::run() {
    // By this name a client introduces itself: who lists the locks wants to see the command's.
    std::string label = std::filesystem::path(options_.words.front()).filename();
    ::program_invocation_short_name = label.data();
    auto on = open_shared(options_.engine);
    if (!on) return complain(on.error());
    const auto agreed = agree_on_size(*on, options_);
    if (!agreed) return complain(agreed.error());
    if (!agreed->empty()) complain(*agreed);
    gates gate(*on, options_);  // before the line: --wait is for both together
    auto held = waiting_.acquire(*on, options_);
    if (!held) return refused(held.error(), *on);
    if (agreed->empty() && !options_.resize) {  // of a name that nobody used it is known only now
        if (const auto late = agree_on_size(*on, options_); late && !late->empty()) complain(*late);
    }
    tell(fmt::format("holds '{}', fence {}", options_.name, held->fence().value));
    const auto passed = gate.pass([this](duration length) { return waiting_.sleep(length); });
    if (!passed) {
        static_cast<void>(std::move(*held).release());
        return refused_by_gate(passed.error());
    }
    return with_lease(std::move(*held), gate);
}

exit_code run_job::refused(const error& why, client& on) const {
    if (why == errc::cancelled) return exit_code::failure;
    const exit_code code = exit_code_of(why.code);
    if (code != exit_code::busy) return complain(why);
    const auto seen = on.inspect(options_.name);
    if (seen && *seen && (*seen)->held()) {
        complain(fmt::format("{}: {}, {}", why.detail, show_holders(**seen),
                             show_ending((*seen)->remaining)));
    } else {
        complain(why.detail);
    }
    return passed_through(options_.busy_code);
}

exit_code run_job::refused_by_gate(const error& why) const {
    if (why == errc::cancelled) return exit_code::failure;
    const exit_code code = complain(why);
    return code == exit_code::busy ? passed_through(options_.busy_code) : code;
}

exit_code run_job::with_lease(lease held, gates& gate) {
    const foreground front;
    const child::plan plan{
        options_.words,
        {{"HOLDFAST_LOCK", options_.name}, {"HOLDFAST_FENCE", to_string(held.fence())}}};
    auto command = child::start(plan, signals_, [&](pid_t group) {
        const time_point now = system_clock().now();
        guard_.watch(group, now + held.remaining());
        if (::isatty(STDIN_FILENO) == 1) front.give(group);
        return held.held();  // and not lost at a gate, or in a pause of ours
    });
    if (!command) {
        front.take_back(::getpgrp());
        guard_.watch(0, {});
        gate.forget();
        const bool lost = !held.held();
        const std::string why = lost ? why_lost(held) : std::string();
        static_cast<void>(std::move(held).release());
        if (command.error().why != 0) return cannot_start(command.error().why);
        complain(fmt::format("'{}' was lost before the command began: {}", options_.name, why));
        return exit_code::lost;
    }
    supervision watch({*command, held, guard_, signals_, front},
                      {grace_of(options_), [](std::string_view text) { complain(text); }});
    const auto end = watch.run();
    guard_.watch(0, {});
    if (end.code != 0) gate.forget();
    return release(std::move(held), end);
}

exit_code run_job::cannot_start(int why) const {
    if (why == ENOENT) {
        complain(fmt::format("there is no command '{}'", options_.words.front()));
        return exit_code::not_found;
    }
    complain(fmt::format("cannot run '{}': {}", options_.words.front(),
                         std::generic_category().message(why)));
    return exit_code::not_executable;
}

exit_code run_job::release(lease held, const supervision::ending& end) const {
    const auto released = std::move(held).release();
    if (!end.why_lost.empty()) {
        complain(
            fmt::format("'{}' was lost, and the command ended: {}", options_.name, end.why_lost));
        return exit_code::lost;
    }
    if (!released && released.error() == errc::lease_lost) {
        complain(fmt::format("{}; another command may have run at the same time",
                             released.error().detail));
        return exit_code::lost;
    }
    if (released) {
        tell(fmt::format("gave '{}' back", options_.name));
    } else {
        complain(
            released.error(),
            fmt::format("'{}' could not be released, and is free when it expires", options_.name));
    }
    return passed_through(end.code);
}

exit_code run_command(const run_options& options) {
    if (const auto fit = check(options); !fit) return complain(fit.error());
    auto signals = signal_inbox::open();
    if (!signals) return complain(signals.error());
    adopt_orphans();
    auto guard = guardian::start();
    if (!guard) return complain(guard.error());
    std::optional<int> asked;
    exit_code code = exit_code::failure;
    {
        run_job job(options, *signals, *guard);
        code = job.run();
        asked = job.asked_to_end();
    }
    if (asked) signals->die_of(*asked);
    // Ctrl-C went to the command alone. A script that runs us must learn that it was meant as well.
    const bool broken_off = static_cast<int>(code) == 128 + SIGINT;
    if (broken_off && ::isatty(STDIN_FILENO) == 1) signals->die_of(SIGINT);
    return code;
}

// A mark that is over at once would mark nothing.
constexpr duration least_window = std::chrono::milliseconds(1);

}  // namespace

void add_run(CLI::App& to, command_list& all, const std::vector<std::string>& command_words) {
    const auto options = std::make_shared<run_options>();
    CLI::App* words = to.add_subcommand("run", "Run a command while holding a lease");
    words->add_option("NAME", options->name, "What to hold")->required();
    add_span(*words, "--ttl", options->ttl, "Of the lease; renewed while it runs", shortest_ttl,
             longest_ttl);
    add_wait(*words, "--wait", options->wait, "How long to wait if it is busy, or forever");
    add_span(*words, "--grace", options->grace, "SIGTERM to SIGKILL on a loss")
        ->default_str("ttl/3, at most 10s");
    words->add_option("--note", options->note, "Words for those who look (lock ls)")
        ->type_name("TEXT");
    add_whole(*words, "--semaphore", options->semaphore, {1, 1'000'000}, "N at the same time")
        ->default_str("");
    words->add_flag("--resize", options->resize, "Make it N for all clients");
    words->add_flag("--shared", options->shared, "Together with other --shared holders only");
    add_span(*words, "--once", options->once, "Only the first within this time", least_window);
    add_span(*words, "--cooldown", options->cooldown, "At least this long after the last start",
             least_window);
    add_rate(*words, "--rate", options->at_most, "At most N in this time: 10/min");
    add_engine_options(*words, options->engine);
    add_whole(*words, "--busy-code", options->busy_code, {0, 255}, "Exit code for busy");
    words->footer(
        "Example:\n"
        "  holdfast run nightly --once 1h -- ./report.sh  # $HOLDFAST_FENCE is its fence\n"
        "Exit codes: the command's; 2 misuse, 3 busy, 4 lost, 5 no answer, 126, 127\n");
    all.push_back({.words = words, .run = [options, &command_words] {
                       options->words = command_words;
                       return run_command(*options);
                   }});
}

}  // namespace holdfast::app
