// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <holdfast/suggest.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace holdfast::app {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& words) {
    return words.get_subcommands([](const CLI::App*) { return true; });
}

std::string full_name(const CLI::App& words) {
    if (words.get_parent() == nullptr) return words.get_name();
    return full_name(*words.get_parent()) + " " + words.get_name();
}

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

std::string label_of(const CLI::Option& option) {
    if (is_word(option)) return "";
    std::string text;
    for (const std::string& name : option.get_snames()) text += "-" + name + ", ";
    for (const std::string& name : option.get_lnames()) text += "--" + name;
    if (option.get_type_size() != 0) text += " " + option.get_type_name();
    return text;
}

std::string usage_of(const CLI::App& words) {
    const bool runs = words.get_name() == "run";
    return fmt::format("{}{}{} [options]{}", full_name(words),
                       commands_of(words).empty() ? "" : " COMMAND", places(words),
                       runs ? " -- COMMAND …" : "");
}

std::string help_for(const CLI::App& words) {
    const auto commands = commands_of(words);
    std::string out = fmt::format("{}\n\nUsage: {}\n", words.get_description(), usage_of(words));
    if (!commands.empty()) out += "\nCommands:\n";
    for (const CLI::App* one : commands) {
        out += fmt::format("  {:<26} {}\n", one->get_name(), one->get_description());
    }
    out += "\nOptions:\n";
    for (const CLI::Option* option : words.get_options()) {
        if (is_word(*option)) continue;
        const std::string usual = option->get_default_str();
        out += fmt::format("  {:<26} {}{}\n", label_of(*option), option->get_description(),
                           usual.empty() ? "" : " (default: " + usual + ")");
    }
    if (!words.get_footer().empty()) out += "\n" + words.get_footer();
    return out;
}

const CLI::App& innermost(const CLI::App& top) {
    const auto named = top.get_subcommands();
    return named.empty() ? top : innermost(*named.back());
}

std::string unexpected_word(const CLI::App& top) {
    const CLI::App& words = innermost(top);
    for (const CLI::App* at = &words; at != nullptr; at = at->get_parent()) {
        const auto extra = at->remaining();
        if (extra.empty()) continue;
        const std::string& word = extra.front();
        const bool option = word.starts_with("-");
        std::vector<std::string> names;
        for (const CLI::Option* known : at->get_options()) {
            for (const std::string& name : known->get_lnames()) {
                if (option) names.push_back("--" + name);
            }
        }
        for (const CLI::App* known : commands_of(*at)) {
            if (!option) names.push_back(known->get_name());
        }
        if (!option && names.empty()) {
            return fmt::format("{} does not know what to do with '{}'{}", full_name(*at), word,
                               at->get_name() == "run" ? "; a command stands after --" : "");
        }
        const std::vector<std::string_view> all(names.begin(), names.end());
        const std::string near = did_you_mean(word.substr(0, word.find('=')), all);
        return fmt::format("{} has no {} '{}'{}", full_name(*at), option ? "option" : "command",
                           word, near);
    }
    return {};
}

}  // namespace holdfast::app
