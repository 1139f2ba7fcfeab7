// SPDX-License-Identifier: Apache-2.0
//
// holdfast completion: what a shell needs to complete our words, made of the words themselves.
#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

namespace holdfast::app {
namespace {

std::string path_of(const CLI::App& words) {
    if (words.get_parent() == nullptr) return "";
    const std::string before = path_of(*words.get_parent());
    return before.empty() ? words.get_name() : before + " " + words.get_name();
}

// "text|json" as "text json"; nothing if it is no choice.
std::string choices_of(const CLI::Option& option) {
    std::string text = option.get_type_name();
    if (!text.contains('|')) return "";
    std::ranges::replace(text, '|', ' ');
    return text;
}

bool takes_file(const CLI::Option& option) {
    return option.get_type_name().starts_with("FILE");
}

void for_each_app(const CLI::App& words, const std::function<void(const CLI::App&)>& visit) {
    visit(words);
    for (const CLI::App* one : commands_of(words)) for_each_app(*one, visit);
}

constexpr const char* bash_head =
    R"(# bash completion for holdfast, made by 'holdfast completion bash'
_holdfast() {
    local path="" words="" only=() word i
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD - 1]}"
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        if [[ $i == 1 && "$word" == help ]]; then
            only=(-X '-*')  # what follows is a command's name
            continue
        fi
        if [[ "$word" == -- ]]; then
            [[ "$path" == run ]] || return  # what follows is a name
            if declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            else
                mapfile -t COMPREPLY < <(compgen -c -f -- "$cur")
            fi
            return  # what follows was another command's
        fi
        case "${path:+$path }$word" in
)";

constexpr const char* bash_tail = R"(    esac
    mapfile -t COMPREPLY < <(compgen "${only[@]}" -W "$words" -- "$cur")
}
complete -F _holdfast holdfast
)";

std::string bash_script(const CLI::App& top) {
    std::vector<std::string> paths;
    std::string values;
    std::string lists;
    std::set<std::string> files;
    for_each_app(top, [&](const CLI::App& words) {
        const std::string path = path_of(words);
        if (!path.empty()) paths.push_back(fmt::format("\"{}\"", path));
        std::vector<std::string> all;
        for (const CLI::App* one : commands_of(words)) all.push_back(one->get_name());
        for (const CLI::Option* option : words.get_options()) {
            if (is_hidden(*option)) continue;
            for (const std::string& name : names_of(*option)) {
                all.push_back(name);
                if (takes_file(*option)) files.insert(name);
                const std::string choices = choices_of(*option);
                if (choices.empty()) continue;
                values += fmt::format("        \"{} {}\") words=\"{}\" ;;\n", path, name, choices);
            }
        }
        lists += fmt::format("            \"{}\") words=\"{}\" ;;\n", path, fmt::join(all, " "));
    });
    std::string out = bash_head;
    out += fmt::format("            {}) path=\"${{path:+$path }}$word\" ;;\n",
                       fmt::join(paths, " | "));
    out += "        esac\n    done\n";
    out += fmt::format(
        "    case \"$prev\" in {}) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;; "
        "esac\n",
        fmt::join(files, " | "));
    out += "    case \"$path $prev\" in\n" + values;
    out += "        *) case \"$path\" in\n" + lists + "        esac ;;\n";
    return out + bash_tail;
}

// Brackets and colons mean something inside a description of zsh's.
std::string zsh_quoted(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '[' || c == ']' || c == ':') out += '\\';
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return out;
}

std::string zsh_option(const CLI::Option& option) {
    std::string out;
    const auto names = names_of(option);
    std::string value;
    if (option.get_items_expected_max() != 0) {
        const std::string choices = choices_of(option);
        value = fmt::format(":{}:{}", zsh_quoted(option.get_type_name()),
                            !choices.empty() ? fmt::format("({})", choices)
                                             : std::string(takes_file(option) ? "_files" : " "));
    }
    for (const std::string& name : names) {
        out += fmt::format("        '({}){}[{}]{}' \\\n", fmt::join(names, " "), name,
                           zsh_quoted(option.get_description()), value);
    }
    return out;
}

std::string zsh_name(const CLI::App& words) {
    std::string name = "_holdfast";
    if (words.get_parent() != nullptr) name.append("_").append(path_of(words));
    std::ranges::replace(name, ' ', '_');
    return name;
}

// What follows "--" is completed as if it stood alone.
constexpr const char* zsh_other_command = R"(    local at=${words[(ie)--]}
    if (( at < CURRENT )); then
        words=("${(@)words[at + 1,-1]}")
        (( CURRENT -= at ))
        _normal
        return
    fi
)";

std::string zsh_script(const CLI::App& top) {
    std::string out = "#compdef holdfast\n# zsh completion, made by 'holdfast completion zsh'\n";
    for_each_app(top, [&](const CLI::App& words) {
        out += fmt::format("{}() {{\n    local curcontext=\"$curcontext\" state line\n",
                           zsh_name(words));
        if (takes_command(words)) out += zsh_other_command;
        if (words.get_name() == "help") {  // as if it were not there
            out += "    _holdfast\n}\n";
            return;
        }
        out += "    _arguments -C \\\n";
        for (const CLI::Option* option : words.get_options()) {
            if (!names_of(*option).empty() && !is_hidden(*option)) out += zsh_option(*option);
        }
        const auto commands = commands_of(words);
        if (commands.empty()) {
            out += "        '*: :()'\n}\n";  // with a blank for the action, options take two tabs
            return;
        }
        out +=
            "        '1: :->command' '*::argument:->argument'\n    case $state in\n"
            "        command) _values 'command' \\\n";
        for (const CLI::App* one : commands) {
            out += fmt::format("            '{}[{}]' \\\n", one->get_name(),
                               zsh_quoted(one->get_description()));
        }
        out += "            ;;\n        argument) case $line[1] in\n";
        for (const CLI::App* one : commands) {
            out += fmt::format("            {}) {} ;;\n", one->get_name(), zsh_name(*one));
        }
        out += "        esac ;;\n    esac\n}\n";
    });
    return out + "_holdfast \"$@\"\n";
}

}  // namespace

void add_completion(CLI::App& to, command_list& all) {
    CLI::App* words = to.add_subcommand("completion", "Print a completion script for a shell");
    const CLI::App* top = &to;
    CLI::App* bash = words->add_subcommand("bash", "For bash");
    CLI::App* zsh = words->add_subcommand("zsh", "For zsh");
    words->group("");  // set up once, and documented: the overview has room for one screen
    words->footer(
        "Examples:\n"
        "  source <(holdfast completion bash)\n"
        "  holdfast completion zsh > ~/.zsh/completions/_holdfast    # in your $fpath\n"
        "\n"
        "An installed holdfast has both in place.\n");
    const auto print = [](const std::string& text) {
        fmt::print("{}", text);
        return exit_code::success;
    };
    all.push_back({.words = bash, .run = [=] { return print(bash_script(*top)); }});
    all.push_back({.words = zsh, .run = [=] { return print(zsh_script(*top)); }});
}

}  // namespace holdfast::app
