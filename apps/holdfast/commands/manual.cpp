// SPDX-License-Identifier: Apache-2.0
//
// holdfast manual: the manual page, made of the same text as --help.
#include "command_line.hpp"

#include "core/utf8_text.hpp"

#include <holdfast/version.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

namespace holdfast::app {
namespace {

// Text as man(7) takes it: ASCII alone; a backslash and a minus mean something, and so does a
// leading dot or apostrophe.
std::string roff(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const auto code = static_cast<unsigned>(detail::take_character(text));
        if (code >= 0x80) {
            out += fmt::format("\\[u{:04X}]", code);
        } else if (code == '\\') {
            out += "\\e";
        } else if (code == '-') {
            out += "\\-";
        } else {
            if ((code == '.' || code == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
            out += static_cast<char>(code);
        }
    }
    return out;
}

constexpr const char* description = R"(.SH DESCRIPTION
Holdfast makes locks, limits and marks work across processes and machines. Each command works on an
.IR engine :
what
.B \-\-engine
says, or the first line of the file that
.B \-\-engine\-file
names, or the environment variable
.BR HOLDFAST_ENGINE ,
or a SQLite file in the user's state directory. A password belongs into the file or the variable:
the words of a command are seen by everyone on the machine.
.PP
Times are written as 500us, 200ms, 10s, 2m or 1h.
)";

constexpr const char* environment = R"(.SH ENVIRONMENT
.TP
.B HOLDFAST_ENGINE
The URL of the engine.
.TP
.BR HOLDFAST_LOCK ", " HOLDFAST_FENCE
Set by
.B holdfast run
for its command: the name that it holds, and the fence of this holding. Send the fence along with
each write, and let the resource refuse a smaller one.
.TP
.B NO_COLOR
If it is set, nothing is coloured.
.TP
.B XDG_STATE_HOME
Where the usual engine's file is kept, below
.IR holdfast/ ;
else ~/.local/state.
)";

void add_command(const CLI::App& words, std::string& out) {
    const auto commands = commands_of(words);
    if (commands.empty()) {
        out += fmt::format(".SS {}\n{}.\n", roff(usage_of(words)), roff(words.get_description()));
        for (const CLI::Option* option : words.get_options()) {
            const std::string label = label_of(*option);
            if (label.empty() || label.contains("--help") || is_hidden(*option)) continue;
            const std::string usual = option->get_default_str();
            out += fmt::format(".TP\n.B {}\n{}.{}\n", roff(label), roff(option->get_description()),
                               usual.empty() ? "" : fmt::format(" Default: {}.", roff(usual)));
        }
        if (const std::string more = footer_of(words); !more.empty()) {
            out += fmt::format(".PP\n.nf\n{}.fi\n", roff(more));
        }
    }
    for (const CLI::App* one : commands) add_command(*one, out);
}

std::string page(const CLI::App& top) {
    std::string out =
        fmt::format(".TH HOLDFAST 1 \"\" \"holdfast {}\" \"User commands\"\n", holdfast::version);
    out += ".SH NAME\nholdfast \\- locks, limits and marks that work across machines\n";
    out += ".SH SYNOPSIS\n";
    for (const CLI::App* one : commands_of(top)) {
        out += fmt::format(".B {}\n.br\n", roff(usage_of(*one)));
    }
    out += description;
    out += ".SH COMMANDS\n";
    add_command(top, out);
    out += fmt::format(".SH EXIT STATUS\n.nf\n{}.fi\n", roff(exit_codes_help));
    out +=
        "holdfast run passes the code of its command through, 128 and the number of the signal "
        "that killed it,\n126 for one that cannot be run, and 127 for one that is not there.\n";
    return out + environment;
}

}  // namespace

void add_manual(CLI::App& to, command_list& all) {
    CLI::App* words = to.add_subcommand("manual", "Print the manual page, for man");
    words->group("");  // for packages: the overview has room for one screen
    words->footer("Example:\n  holdfast manual | man -l -\n");
    const CLI::App* top = &to;
    all.push_back({.words = words, .run = [top] {
                       fmt::print("{}", page(*top));
                       return exit_code::success;
                   }});
}

}  // namespace holdfast::app
