// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include "display_width.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace holdfast::app {

std::vector<const CLI::App*> commands_of(const CLI::App& words) {
    return words.get_subcommands([](const CLI::App*) { return true; });
}

std::string full_name(const CLI::App& words) {
    if (words.get_parent() == nullptr) return words.get_name();
    return full_name(*words.get_parent()) + " " + words.get_name();
}

namespace {

bool is_word(const CLI::Option& option) {
    return option.get_lnames().empty() && option.get_snames().empty();
}

// The words that it takes by their place: " NAME", " [PREFIX]".
std::string places(const CLI::App& words) {
    std::string text;
    for (const CLI::Option* option : words.get_options()) {
        if (!is_word(*option)) continue;
        text += option->get_required() ? fmt::format(" {}", option->get_name(true))
                                       : fmt::format(" [{}]", option->get_name(true));
    }
    return text;
}

}  // namespace

std::vector<std::string> names_of(const CLI::Option& option) {
    std::vector<std::string> names;
    for (const std::string& name : option.get_snames()) names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
    return names;
}

std::string label_of(const CLI::Option& option) {
    if (is_word(option)) return "";
    std::string text;
    for (const std::string& name : option.get_snames()) text += "-" + name + ", ";
    for (const std::string& name : option.get_lnames()) text += "--" + name;
    if (option.get_type_size() != 0) text += " " + option.get_type_name();
    return text;
}

bool is_hidden(const CLI::Option& option) {
    return option.get_group().empty();
}

bool takes_command(const CLI::App& words) {
    return words.get_name() == "run" || words.get_name() == "worker";
}

std::string usage_of(const CLI::App& words) {
    const bool runs = takes_command(words);
    return fmt::format("{}{}{} [options]{}", full_name(words),
                       commands_of(words).empty() ? "" : " COMMAND", places(words),
                       runs ? " -- COMMAND …" : "");
}

namespace {

constexpr int help_columns = 80;

/// Words and what they mean, in two columns. A word that is wider than its column pushes its
/// meaning to the right, or below if there is too little room left.
class two_columns {
public:
    void add(std::string word, std::string meaning) {
        if (const int wide = columns(word); wide <= widest_word) width_ = std::max(width_, wide);
        rows_.push_back({std::move(word), std::move(meaning)});
    }
    [[nodiscard]] std::string text() const {
        const int indent = 2 + width_ + 2;
        std::string out;
        for (const auto& [word, meaning] : rows_) {
            const int begins = 2 + std::max(width_, columns(word)) + 2;
            const bool beside = begins + columns(meaning) <= help_columns || begins == indent;
            out += "  " + fit(word, begins - 4);
            out += beside ? "  " : "\n" + std::string(static_cast<std::size_t>(indent), ' ');
            out += wrapped(meaning, help_columns - indent, indent) + "\n";
        }
        return out;
    }

private:
    static constexpr int widest_word = 20;

    std::vector<std::pair<std::string, std::string>> rows_;
    int width_ = 0;
};

}  // namespace

std::string footer_of(const CLI::App& words) {
    std::string out;
    const std::string all = words.get_footer();
    std::string_view rest = all;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, end);
        out += line.starts_with(' ') ? std::string(line) : wrapped(line, help_columns, 0);
        out += '\n';
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return out;
}

std::string help_for(const CLI::App& words) {
    const auto commands = commands_of(words);
    std::string out = fmt::format("{}\n\nUsage: {}\n", words.get_description(), usage_of(words));
    two_columns named;
    for (const CLI::App* one : commands) {
        if (one->get_group().empty()) continue;  // not for the overview
        named.add(one->get_name(), one->get_description());
    }
    if (!commands.empty()) out += "\nCommands:\n" + named.text();
    two_columns options;
    for (const CLI::Option* option : words.get_options()) {
        if (is_word(*option) || is_hidden(*option)) continue;
        const std::string usual = option->get_default_str();
        options.add(label_of(*option),
                    option->get_description() + (usual.empty() ? "" : " (default: " + usual + ")"));
    }
    out += "\nOptions:\n" + options.text();
    if (const std::string more = footer_of(words); !more.empty()) out += "\n" + more;
    return out;
}

const CLI::App& innermost(const CLI::App& top) {
    const auto named = top.get_subcommands();
    return named.empty() ? top : innermost(*named.back());
}

}  // namespace holdfast::app
