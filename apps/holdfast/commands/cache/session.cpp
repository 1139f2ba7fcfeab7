// SPDX-License-Identifier: Apache-2.0
//
// holdfast session: a user's sessions. An id lets its holder in, so none is taken as a word, which
// everybody on the machine sees, and none is printed.
#include "command_line.hpp"
#include "commands/cache/stored_options.hpp"
#include "core/json_text.hpp"
#include "error_output.hpp"
#include "printable.hpp"

#include <holdfast/session_store.hpp>

#include <fmt/format.h>

#include <memory>

namespace holdfast::app {
namespace {

struct session_command_options : stored_options {
    std::string user;
};

session_store open_sessions(const client& on, const session_command_options& options) {
    return session_store(on, {.prefix = options.prefix, .timeout = stored_timeout});
}

void print_session(const session& one, const session_command_options& options) {
    detail::json_object fields;
    std::string text;
    for (const auto& [name, value] : one.fields) {
        fields.put(name, value);
        text += fmt::format(" {}={}", printable(name), printable(value));
    }
    if (!options.json()) {
        fmt::print("version {}{}\n", one.version, text);
        return;
    }
    detail::json_object out;
    out.put("user", one.user);
    out.put("version", one.version);
    out.raw("fields", fields.text());
    fmt::print("{}\n", out.text());
}

// To look is a use: it prolongs the sessions.
exit_code list_sessions(const session_command_options& options) {
    auto on = open_shared(options.engine, purpose::look);
    if (!on) return complain(on.error());
    auto sessions = open_sessions(*on, options);
    const auto ids = sessions.sessions_of(options.user);
    if (!ids) return complain(ids.error());
    for (const auto& id : *ids) {
        const auto one = sessions.get(id);
        if (!one) return complain(one.error());
        if (*one) print_session(**one, options);
    }
    if (ids->empty() && !options.json()) fmt::print(stderr, "no sessions\n");
    return exit_code::success;
}

exit_code end_sessions(const session_command_options& options) {
    auto on = open_shared(options.engine);
    if (!on) return complain(on.error());
    const auto ended = open_sessions(*on, options).end_all(options.user);
    if (!ended) return complain(ended.error());
    if (options.json()) {
        detail::json_object out;
        out.put("user", options.user);
        out.put("ended", *ended);
        fmt::print("{}\n", out.text());
    } else {
        fmt::print("ended {}\n", *ended);
    }
    return exit_code::success;
}

std::shared_ptr<session_command_options> add_user(CLI::App& words) {
    auto options = std::make_shared<session_command_options>();
    options->prefix = session_options{}.prefix;
    words.add_option("USER", options->user, "Whose")->required();
    add_stored_options(words, *options);
    return options;
}

}  // namespace

void add_session(CLI::App& to, command_list& all) {
    CLI::App* words = to.add_subcommand("session", "Look at a user's sessions, or end them");
    words->group("");  // cache names it
    words->footer(
        "Example:\n"
        "  holdfast session end alice\n"
        "\n"
        "Ids are neither taken nor printed: they are as good as passwords.\n");
    CLI::App* look = words->add_subcommand("ls", "List a user's sessions and their fields");
    const auto seen = add_user(*look);
    look->footer(
        "Example:\n"
        "  holdfast session ls alice --format json\n"
        "\n"
        "To look is a use: it prolongs the sessions. In JSON, one object per line.\n"
        "Exit codes: 0 done, also if there are none; 2 misuse, 5 no answer\n");
    all.push_back({.words = look, .run = [seen] { return list_sessions(*seen); }});
    CLI::App* end = words->add_subcommand("end", "Log a user out everywhere");
    const auto gone = add_user(*end);
    end->footer(
        "Example:\n"
        "  holdfast session end alice\n"
        "Exit codes: 0 done, also if there were none; 2 misuse, 5 no answer\n");
    all.push_back({.words = end, .run = [gone] { return end_sessions(*gone); }});
}

}  // namespace holdfast::app
