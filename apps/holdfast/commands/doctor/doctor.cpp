// SPDX-License-Identifier: Apache-2.0
//
// holdfast doctor: what is unsafe about an engine, in plain words, and how to fix it.
#include "command_line.hpp"
#include "commands/doctor/examinations.hpp"
#include "core/json_text.hpp"
#include "engine_choice.hpp"
#include "error_output.hpp"
#include "option_types.hpp"
#include "printable.hpp"
#include "terminal.hpp"

#include <holdfast/client.hpp>
#include <holdfast/engine/span_text.hpp>
#include <holdfast/engine/url.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

namespace holdfast::app {
namespace {

using level = finding::level;

struct doctor_options {
    engine_options engine;
    std::string format = "text";
};

std::string_view word_for(level weight) {
    switch (weight) {
        case level::good: return "good";
        case level::note: return "note";
        case level::unsafe: return "unsafe";
    }
    return "";
}

paint colour_of(level weight) {
    switch (weight) {
        case level::good: return paint::green;
        case level::note: return paint::yellow;
        case level::unsafe: return paint::red;
    }
    return paint::plain;
}

void append(findings& to, findings more) {
    std::ranges::move(more, std::back_inserter(to));
}

// A password where others can read it.
findings examine_secret(const doctor_options& options, const url& where) {
    if (!where.password) return {};
    if (!options.engine.url.empty()) {
        return {{level::note, "password", "--engine",
                 "a password in the words of a command is in the shell's history, and seen by ps",
                 "put the URL into HOLDFAST_ENGINE, or into a file for --engine-file"}};
    }
    struct stat seen{};
    if (options.engine.file.empty() || ::stat(options.engine.file.c_str(), &seen) != 0) return {};
    if ((seen.st_mode & (S_IRGRP | S_IROTH)) == 0) return {};
    return {{level::unsafe, "password", options.engine.file,
             "others may read the file with the password",
             fmt::format("chmod go-r {}", options.engine.file)}};
}

// The options are the doctor's to know, not to show.
std::string label_of(const url& where) {
    if (where.hosts.empty()) return fmt::format("{}:{}", where.scheme, where.path);
    url plain = where;
    plain.options.clear();
    return redacted(plain);
}

// No lease may be longer than a quarantine.
duration trial_ttl(const url& where) {
    duration ttl = std::chrono::seconds(5);
    for (const auto& [key, text] : where.options) {
        if (key != "quarantine") continue;
        const auto window = parse_span(text);
        if (window && *window > duration::zero()) ttl = std::min(ttl, *window);
    }
    return ttl;
}

result<findings> examine(const doctor_options& options) {
    const auto text = chosen_engine(options.engine);
    if (!text) return std::unexpected(text.error());
    const auto where = parse_url(*text);
    if (!where) return std::unexpected(where.error());
    findings found = examine_secret(options, *where);
    auto more = examine_engine(*text);
    if (!more) return std::unexpected(more.error());
    append(found, std::move(*more));
    return found;
}

bool same(const finding& one, const finding& other) {
    return one.weight == other.weight && one.about == other.about && one.text == other.text &&
           one.fix == other.fix;
}

// What several servers have in common is said once; of what is unsafe, each is named.
std::string places_of(const finding& one, const findings& all) {
    std::vector<std::string> where;
    for (const finding& other : all) {
        if (same(one, other) && !other.where.empty()) where.push_back(other.where);
    }
    if (where.size() > 2 && one.weight != level::unsafe) {
        return fmt::format("{} and {} others", where.front(), where.size() - 1);
    }
    return fmt::format("{}", fmt::join(where, ", "));
}

void print_text(const findings& all) {
    const terminal out = terminal::of(STDOUT_FILENO);
    for (auto at = all.begin(); at != all.end(); ++at) {
        const finding& one = *at;
        if (std::any_of(all.begin(), at, [&](const auto& before) { return same(one, before); })) {
            continue;
        }
        const std::string word = fmt::format("{:<7}", word_for(one.weight));
        const std::string where = places_of(one, all);
        fmt::print("{} {:<12} {}{}{}\n", out.in(colour_of(one.weight), word), one.about,
                   printable(where), where.empty() ? "" : ": ", printable(one.text));
        if (one.fix.empty()) continue;
        fmt::print("{:<21}{} {}\n", "", out.in(paint::bold, "→"), printable(one.fix));
    }
    const auto unsafe = std::ranges::count(all, level::unsafe, &finding::weight);
    if (unsafe == 0) {
        fmt::print("\n{} Nothing unsafe was found.\n", out.in(paint::green, "Well."));
    } else {
        fmt::print("\n{} {} unsafe.\n", out.in(paint::red, "Not well:"),
                   unsafe == 1 ? "one thing is" : fmt::format("{} things are", unsafe));
    }
}

void print_json(const findings& all) {
    for (const finding& one : all) {
        detail::json_object line;
        line.put("level", word_for(one.weight));
        line.put("about", one.about);
        line.put("where", one.where);
        line.put("text", one.text);
        if (!one.fix.empty()) line.put("fix", one.fix);
        fmt::print("{}\n", line.text());
    }
}

exit_code run_doctor(const doctor_options& options) {
    const auto found = examine(options);
    if (!found) return complain(found.error());
    options.format == "json" ? print_json(*found) : print_text(*found);
    const bool unsafe = std::ranges::find(*found, level::unsafe, &finding::weight) != found->end();
    return unsafe ? exit_code::failure : exit_code::success;
}

}  // namespace

result<findings> examine_engine(const std::string& text) {
    auto where = parse_url(text);
    if (!where) return std::unexpected(where.error());
    const bool in_a_file = where->scheme == "sqlite";
    std::error_code none;
    if (in_a_file) where->path = std::filesystem::absolute(where->path, none).string();
    const std::string label = label_of(*where);
    auto on = open(text);
    if (!on) return std::unexpected(on.error());
    findings found;
    if (where->scheme == "memory") {
        found.push_back({level::unsafe, "engine", label,
                         "it is inside one process: no other process is excluded",
                         "take sqlite:/file for one machine, redis://host for many"});
        return found;
    }
    if (in_a_file) {
        if (auto obstacle = find_obstacle(*where)) {
            found.push_back(*std::move(obstacle));
            return found;
        }
    }
    append(found,
           try_a_lease(
               *std::move(on),
               {.url = text, .where = label, .ttl = trial_ttl(*where), .in_a_file = in_a_file}));
    if (in_a_file) append(found, examine_file(*where));
#ifdef HOLDFAST_APP_REDIS
    if (where->scheme.starts_with("red")) append(found, examine_redis(*where));
#endif
#ifdef HOLDFAST_APP_POSTGRESQL
    if (where->scheme.starts_with("postgres")) append(found, examine_postgresql(*where));
#endif
#ifdef HOLDFAST_APP_MYSQL
    if (where->scheme == "mysql" || where->scheme == "mariadb") {
        append(found, examine_mysql(*where));
    }
#endif
#ifdef HOLDFAST_APP_ETCD
    if (where->scheme.starts_with("etcd")) append(found, examine_etcd(*where));
#endif
#ifdef HOLDFAST_APP_ZOOKEEPER
    if (where->scheme == "zookeeper") append(found, examine_zookeeper(*where));
#endif
    return found;
}

void add_doctor(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<doctor_options>();
    CLI::App* words = to.add_subcommand("doctor", "Find unsafe settings of an engine");
    add_choice(*words, "--format", options->format, {"text", "json"}, "The output format");
    add_engine_options(*words, options->engine);
    words->footer(
        "Example:\n"
        "  HOLDFAST_ENGINE=redis://db1 holdfast doctor\n"
        "\n"
        "Checks eviction, persistence, replicas, clocks, version, permissions and TLS of each "
        "Redis "
        "server; file system, permissions and journal of a SQLite file. It acquires and releases a "
        "lease of its own; it changes nothing else.\n"
        "Exit codes: 0 nothing unsafe, 1 something unsafe, 2 misuse, 5 no answer\n");
    all.push_back({.words = words, .run = [options] { return run_doctor(*options); }});
}

}  // namespace holdfast::app
