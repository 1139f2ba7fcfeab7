// SPDX-License-Identifier: Apache-2.0
#include "usage_errors.hpp"

#include "command_line.hpp"

#include <holdfast/engine/suggest.hpp>
#include <holdfast/engine/url.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace holdfast::app {
namespace {

// The name before the "=".
std::string_view name_in(std::string_view word) {
    return word.substr(0, word.find('='));
}

// A URL may have a password in it, wherever it was put by mistake.
std::string shown(const std::string& word) {
    return word.contains("://") ? redacted(word) : word;
}

const CLI::Option* option_named(const CLI::App& words, std::string_view name) {
    for (const CLI::Option* option : words.get_options()) {
        const auto names = names_of(*option);
        if (std::ranges::find(names, name) != names.end()) return option;
    }
    return nullptr;
}

bool takes_value(const CLI::Option& option) {
    return option.get_items_expected_max() != 0;
}

bool has_places(const CLI::App& words) {
    const auto options = words.get_options();
    return std::ranges::any_of(options,
                               [](const CLI::Option* one) { return names_of(*one).empty(); });
}

// A name may begin with a dash; then it must be told from an option.
std::string how_to_say(const CLI::App& words, std::string_view name) {
    const bool runs = takes_command(words);
    return fmt::format("; if that is a name: {} -- {}{}", full_name(words), name,
                       runs ? " -- COMMAND …" : "");
}

// Some command below it knows the option.
bool known_below(const CLI::App& words, std::string_view name) {
    return std::ranges::any_of(commands_of(words), [&](const CLI::App* one) {
        return option_named(*one, name) != nullptr || known_below(*one, name);
    });
}

std::string unknown_option(const CLI::App& words, const std::string& word) {
    std::vector<std::string> names;
    for (const CLI::Option* known : words.get_options()) {
        for (const std::string& name : known->get_lnames()) {
            if (!is_hidden(*known)) names.push_back("--" + name);
        }
    }
    const std::vector<std::string_view> all(names.begin(), names.end());
    const std::string_view name = name_in(word);
    std::string near = did_you_mean(name, all);
    if (near.empty() && known_below(words, name)) near = "; it stands after the command's name";
    if (near.empty() && has_places(words)) {
        near = how_to_say(words, word.contains("://") ? name : std::string_view(word));
    }
    return fmt::format("{} has no option '{}'{}", full_name(words), name, near);
}

std::vector<std::string> command_names(const CLI::App& words) {
    std::vector<std::string> names;
    for (const CLI::App* known : commands_of(words)) names.push_back(known->get_name());
    return names;
}

std::string unknown_command(const CLI::App& words, const std::string& word) {
    const auto names = command_names(words);
    const std::vector<std::string_view> all(names.begin(), names.end());
    std::string near = did_you_mean(word, all);
    if (near.empty()) near = "; it has " + names_of_commands(words);
    return fmt::format("{} has no command '{}'{}", full_name(words), shown(word), near);
}

}  // namespace

std::string names_of_commands(const CLI::App& words) {
    return fmt::format("{}", fmt::join(command_names(words), ", "));
}

std::string unexpected_word(const CLI::App& top) {
    for (const CLI::App* at = &innermost(top); at != nullptr; at = at->get_parent()) {
        auto extra = at->remaining();
        const auto dashes = std::ranges::find(extra, "--");
        const bool after_dashes = dashes == extra.begin() && dashes != extra.end();
        if (dashes != extra.end()) extra.erase(dashes);  // CLI11 keeps it
        if (extra.empty()) continue;
        const std::string& word = extra.front();
        if (word.starts_with("-") && !after_dashes) return unknown_option(*at, word);
        if (!commands_of(*at).empty()) return unknown_command(*at, word);
        return fmt::format("{} does not know what to do with '{}'{}", full_name(*at), shown(word),
                           after_dashes && word.starts_with("-") ? "; options go before --"
                           : takes_command(*at)                  ? "; a command stands after --"
                                                                 : "");
    }
    return {};
}

namespace {

// An option whose value was forgotten, so that the next word was taken for it; or one that takes
// none, with a value. CLI11 lets both pass if they can be made sense of.
std::string misplaced_value(const CLI::App& words, const std::vector<std::string>& line) {
    const auto end = std::ranges::find(line, "--");
    for (auto at = line.begin(); at != end; ++at) {
        const std::string_view name = name_in(*at);
        const CLI::Option* const option = option_named(words, name);
        if (option == nullptr || is_hidden(*option)) continue;
        const bool alone = name.size() == at->size();
        if (!takes_value(*option)) {
            if (alone) continue;
            return fmt::format("{} takes no value; leave '{}' out", name, at->substr(name.size()));
        }
        if (!alone && name.size() + 1 < at->size()) continue;
        const auto value = at + 1;
        if (value == end || option_named(words, name_in(*value)) != nullptr) {
            return fmt::format("{} takes a value: {} {}", name, name, option->get_type_name());
        }
        at = value;
    }
    return {};
}

// "NAME", and the form that has it; "--rate", and what goes with it.
std::string missing(const CLI::App& words) {
    for (const CLI::Option* option : words.get_options()) {
        if (!option->get_required() || option->count() > 0) continue;
        const std::string name = option->get_name();
        return names_of(*option).empty()
                   ? fmt::format("{} is required: {}", name, usage_of(words))
                   : fmt::format("{0} is required: add {0} {1}", name, option->get_type_name());
    }
    return {};
}

std::string repeated(const CLI::App& words) {
    for (const CLI::Option* option : words.get_options()) {
        if (option->count() < 2 || !takes_value(*option)) continue;
        return fmt::format("{} is given {} times; give it once", option->get_name(),
                           option->count());
    }
    return {};
}

std::string excluded(const CLI::App& words) {
    for (const CLI::Option* option : words.get_options()) {
        for (const CLI::Option* other : option->get_excludes()) {
            if (option->count() == 0 || other->count() == 0) continue;
            return fmt::format("use {} or {}, not both", option->get_name(), other->get_name());
        }
    }
    return {};
}

template <class Error>
bool is(const CLI::ParseError& found) {
    return dynamic_cast<const Error*>(&found) != nullptr;
}

std::string in_our_words(const CLI::App& words, const CLI::ParseError& found) {
    std::string said;
    if (is<CLI::RequiredError>(found)) said = missing(words);
    if (is<CLI::ArgumentMismatch>(found)) said = repeated(words);
    if (is<CLI::ExcludesError>(found)) said = excluded(words);
    return said.empty() ? found.what() : said;  // what our own checks refuse has our words already
}

}  // namespace

std::string what_is_wrong(const CLI::App& top, const std::vector<std::string>& line,
                          const CLI::ParseError* found) {
    const CLI::App& words = innermost(top);
    if (std::string why = misplaced_value(words, line); !why.empty()) return why;
    // What is missing may be there, misspelt.
    if (found == nullptr || is<CLI::RequiredError>(*found)) {
        if (std::string why = unexpected_word(top); !why.empty()) return why;
    }
    return found == nullptr ? std::string() : in_our_words(words, *found);
}

}  // namespace holdfast::app
