// SPDX-License-Identifier: Apache-2.0
//
// holdfast cache: what is cached under a key, and away with it.
#include "command_line.hpp"
#include "commands/cache/stored_options.hpp"
#include "core/json_text.hpp"
#include "error_output.hpp"
#include "printable.hpp"

#include <holdfast/cache.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <memory>

namespace holdfast::app {
namespace {

struct cache_command_options : stored_options {
    std::string key;
};

cache<std::string> open_cache(const client& on, const cache_command_options& options) {
    return cache<std::string>(on, {.prefix = options.prefix, .timeout = stored_timeout});
}

exit_code peek(const cache_command_options& options) {
    auto on = open_shared(options.engine, purpose::look);
    if (!on) return complain(on.error());
    const auto seen = open_cache(*on, options).peek(options.key);
    if (!seen) return complain(seen.error());
    const bool there = seen->has_value();
    if (options.json()) {
        detail::json_object out;
        out.put("key", options.key);
        out.put("cached", there);
        if (there) {
            out.put("stale", (*seen)->stale);
            out.put("absent", !(*seen)->value.has_value());
            out.put("value", (*seen)->value);
        }
        fmt::print("{}\n", out.text());
    } else if (there && (*seen)->value) {
        const std::string& value = *(*seen)->value;
        fmt::print("{}\n", ::isatty(STDOUT_FILENO) == 1 ? printable_lines(value) : value);
        if ((*seen)->stale) fmt::print(stderr, "it is stale\n");
    } else {
        fmt::print(stderr, "{}\n", there ? "the source has nothing" : "nothing is cached");
    }
    return there && (*seen)->value ? exit_code::success : exit_code::failure;
}

exit_code invalidate(const cache_command_options& options) {
    auto on = open_shared(options.engine);
    if (!on) return complain(on.error());
    const auto gone = open_cache(*on, options).invalidate(options.key);
    if (!gone) return complain(gone.error());
    if (options.json()) {
        detail::json_object out;
        out.put("key", options.key);
        out.put("deleted", *gone);
        fmt::print("{}\n", out.text());
    } else if (!*gone) {
        fmt::print(stderr, "nothing was cached\n");
    }
    return exit_code::success;
}

std::shared_ptr<cache_command_options> add_key(CLI::App& words) {
    auto options = std::make_shared<cache_command_options>();
    options->prefix = cache_options{}.prefix;
    words.add_option("KEY", options->key, "Which, without the prefix")->required();
    add_stored_options(words, *options);
    return options;
}

}  // namespace

void add_cache(CLI::App& to, command_list& all) {
    CLI::App* words = to.add_subcommand("cache", "Caches; beside it: session, board, channel");
    words->footer(
        "Example:\n"
        "  holdfast cache invalidate 42 --prefix news_article:\n"
        "\n"
        "Also: 'holdfast session', 'holdfast board', 'holdfast channel'.\n");
    CLI::App* look = words->add_subcommand("peek", "Print what is cached; load nothing");
    const auto seen = add_key(*look);
    look->footer(
        "Example:\n"
        "  holdfast cache peek 42 --prefix news_article:\n"
        "Exit codes: 0 printed, 1 nothing is cached, 2 misuse, 5 no answer\n");
    all.push_back({.words = look, .run = [seen] { return peek(*seen); }});
    CLI::App* away = words->add_subcommand("invalidate", "Delete what is cached, and void loads");
    const auto gone = add_key(*away);
    away->footer(
        "Example:\n"
        "  holdfast cache invalidate 42 --prefix news_article:\n"
        "\n"
        "Call it after the source was written. A load that runs meanwhile stores nothing.\n"
        "Exit codes: 0 done, also if nothing was cached; 2 misuse, 5 no answer\n");
    all.push_back({.words = away, .run = [gone] { return invalidate(*gone); }});
}

}  // namespace holdfast::app
