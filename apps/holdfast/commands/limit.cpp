// SPDX-License-Identifier: Apache-2.0
//
// holdfast limit: a rate that all scripts on all machines share. The answer is the exit code.
#include "command_line.hpp"
#include "core/json_text.hpp"
#include "engine_choice.hpp"
#include "error_output.hpp"
#include "option_types.hpp"
#include "time_text.hpp"

#include <holdfast/rate_limiter.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace holdfast::app {
namespace {

struct limit_options {
    engine_options engine;
    std::string key;
    std::optional<rate> at_most;
    int burst = 0;
    int amount = 1;
    std::string format = "text";
};

enum class query { take, peek };

double in_ms(duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
}

std::string decision_json(const std::string& key, const decision& seen) {
    detail::json_object out;
    out.put("key", key);
    out.put("allowed", seen.allowed);
    out.put("limit", seen.limit);
    // More than there ever is: the engine was not even asked, so what is left now is not known.
    if (!seen.allowed && seen.retry_after == decision::never) {
        out.put("never", true);
        return out.text();
    }
    out.put("remaining", seen.remaining);
    if (!seen.allowed) out.put("retry_after_ms", in_ms(seen.retry_after));
    out.put("reset_after_ms", in_ms(seen.reset_after));
    return out.text();
}

std::string to_text(const decision& seen) {
    if (seen.allowed) return fmt::format("allowed, {} of {} left", seen.remaining, seen.limit);
    if (seen.retry_after == decision::never) {
        return fmt::format("refused: never more than {} at once", seen.limit);
    }
    return fmt::format("refused, again in {}", show_roughly(seen.retry_after));
}

exit_code ask(const limit_options& options, query what) {
    const auto rule = rule_of(*options.at_most, static_cast<std::uint64_t>(options.burst));
    if (const auto fits = check(rule); !fits) return complain(fits.error(), "--burst");
    auto on = open_shared(options.engine);
    if (!on) return complain(on.error());
    rate_limiter limiter(*on, rule, {.timeout = std::chrono::seconds(5), .remembered_keys = 0});
    const auto amount = static_cast<std::uint64_t>(options.amount);
    const auto seen =
        what == query::take ? limiter.take(options.key, amount) : limiter.peek(options.key, amount);
    if (!seen) return complain(seen.error());
    fmt::print("{}\n",
               options.format == "json" ? decision_json(options.key, *seen) : to_text(*seen));
    if (seen->allowed) return exit_code::success;
    return seen->retry_after == decision::never ? exit_code::usage : exit_code::busy;
}

void add_query(CLI::App& to, command_list& all, query what) {
    const auto options = std::make_shared<limit_options>();
    const bool takes = what == query::take;
    CLI::App* words = takes
                          ? to.add_subcommand("take", "Take from a rate limit, or be refused")
                          : to.add_subcommand("peek", "Print what take would answer; take nothing");
    words->add_option("KEY", options->key, "Whose rate")->required();
    add_rate(*words, "--rate", options->at_most, "At most N in this time: 10/min")->required();
    add_whole(*words, "--burst", options->burst, {1, 1'000'000'000},
              "The capacity of the bucket, refilled at the rate")
        ->default_str("");
    add_whole(*words, "-n,--amount", options->amount, {1, 1'000'000'000}, "How many to take");
    add_choice(*words, "--format", options->format, {"text", "json"}, "The output format");
    add_engine_options(*words, options->engine);
    words->footer(fmt::format(
        "Examples:\n"
        "  holdfast limit {0} mails/ana --rate 100/hour\n"
        "  holdfast limit {0} api --rate 10/s --burst 50 -n 5\n"
        "Exit codes: 0 allowed, 2 misuse (also: more than the limit), 3 refused, 5 no answer\n",
        words->get_name()));
    all.push_back({.words = words, .run = [options, what] { return ask(*options, what); }});
}

}  // namespace

void add_limit(CLI::App& to, command_list& all) {
    CLI::App* words =
        to.add_subcommand("limit", "Rate limits that all machines share, for scripts");
    words->footer(
        "Example:\n"
        "  holdfast limit take mails/ana --rate 100/hour && send-mail ana\n"
        "\n"
        "All users of a key must pass the same rate.\n");
    add_query(*words, all, query::take);
    add_query(*words, all, query::peek);
}

}  // namespace holdfast::app
