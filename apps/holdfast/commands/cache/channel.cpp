// SPDX-License-Identifier: Apache-2.0
//
// holdfast channel: publish a message, or print those that come.
#include "command_line.hpp"
#include "commands/cache/stored_options.hpp"
#include "core/json_text.hpp"
#include "error_output.hpp"
#include "printable.hpp"

#include <holdfast/channel.hpp>
#include <holdfast/mutex.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

namespace holdfast::app {
namespace {

struct channel_command_options : stored_options {
    std::string name;
    std::string message;
    bool reliable = false;
    std::string after;
    int count = 0;
    duration wait = forever;
};

channel<std::string> open_channel(const client& on, const channel_command_options& options) {
    return channel<std::string>(
        on, options.name,
        {.prefix = options.prefix, .reliable = options.reliable, .timeout = stored_timeout});
}

exit_code publish_message(const channel_command_options& options) {
    auto on = open_shared(options.engine);
    if (!on) return complain(on.error());
    const auto sent = open_channel(*on, options).publish(options.message);
    if (!sent) return complain(sent.error());
    detail::json_object out;
    out.put("receivers", sent->receivers);
    if (!sent->offset.empty()) out.put("offset", sent->offset);
    if (options.json()) {
        fmt::print("{}\n", out.text());
    } else if (!sent->offset.empty()) {
        fmt::print("{}\n", sent->offset);
    }
    return exit_code::success;
}

void print_message(const message<std::string>& one, const channel_command_options& options) {
    if (options.json()) {
        detail::json_object out;
        out.put("message", one.value);
        if (!one.offset.empty()) out.put("offset", one.offset);
        out.put("lost", one.lost);
        out.put("gap", one.gap);
        fmt::print("{}\n", out.text());
    } else {
        if (one.lost > 0) fmt::print(stderr, "{} messages are lost\n", one.lost);
        if (one.gap) fmt::print(stderr, "messages may be lost here\n");
        fmt::print("{}\n", ::isatty(STDOUT_FILENO) == 1 ? printable_lines(one.value) : one.value);
    }
    std::fflush(stdout);
}

exit_code print_messages(const channel_command_options& options) {
    auto on = open_shared(options.engine, purpose::look);
    if (!on) return complain(on.error());
    subscribe_options how;
    if (!options.after.empty()) how.after = options.after;
    auto reader = open_channel(*on, options).subscribe(how);
    if (!reader) return complain(reader.error());
    for (int printed = 0; options.count == 0 || printed < options.count; ++printed) {
        const auto next = reader->next(options.wait);
        if (!next) return complain(next.error());
        if (!*next) return exit_code::busy;
        print_message(**next, options);
    }
    return exit_code::success;
}

std::shared_ptr<channel_command_options> add_name(CLI::App& words) {
    auto options = std::make_shared<channel_command_options>();
    options->prefix = channel_options{}.prefix;
    words.add_option("NAME", options->name, "Which channel, without the prefix")->required();
    words.add_flag("--reliable", options->reliable, "It keeps its messages in a stream");
    return options;
}

}  // namespace

void add_channel(CLI::App& to, command_list& all) {
    CLI::App* words = to.add_subcommand("channel", "Publish a message, or listen");
    words->group("");  // cache names it
    words->footer(
        "Examples:\n"
        "  holdfast channel listen news\n"
        "  holdfast channel publish news 'rain tomorrow'\n");
    CLI::App* send = words->add_subcommand("publish", "Publish a message");
    const auto sent = add_name(*send);
    send->add_option("MESSAGE", sent->message, "What")->required();
    add_stored_options(*send, *sent);
    send->footer(
        "Example:\n"
        "  holdfast channel publish news 'rain tomorrow' --reliable\n"
        "\n"
        "Of a reliable channel the message's offset is printed.\n"
        "Exit codes: 0 done, 2 misuse, 5 no answer\n");
    all.push_back({.words = send, .run = [sent] { return publish_message(*sent); }});
    CLI::App* hear = words->add_subcommand("listen", "Print the messages that come");
    const auto heard = add_name(*hear);
    hear->add_option("--after", heard->after, "Begin behind this offset; 0: with the oldest")
        ->type_name("OFFSET");
    add_whole(*hear, "-n,--count", heard->count, {0, 1'000'000'000}, "End after so many; 0: never");
    add_wait(*hear, "--wait", heard->wait, "End if none comes for so long, or forever");
    add_stored_options(*hear, *heard);
    hear->footer(
        "Example:\n"
        "  holdfast channel listen orders --reliable --after 0 -n 10\n"
        "\n"
        "In JSON, one object per line.\n"
        "Exit codes: 0 done, 2 misuse, 3 none came, 5 no answer\n");
    all.push_back({.words = hear, .run = [heard] { return print_messages(*heard); }});
}

}  // namespace holdfast::app
