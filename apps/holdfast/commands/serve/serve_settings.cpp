// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/serve_settings.hpp"

#include "net/access_rules.hpp"

#include <holdfast/engine/suggest.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>

namespace holdfast::app {
namespace {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

result<void> apply(const setting& one, serve_settings& to, std::string_view text,
                   std::string_view where) {
    auto read = one.read(to, text);
    if (read) return {};
    return fail(errc::invalid_argument, fmt::format("{}: {}", where, read.error().detail));
}

const setting* find_setting(std::string_view name) {
    const auto table = serve_table();
    const auto found = std::ranges::find(table, name, &setting::name);
    return found == table.end() ? nullptr : &*found;
}

result<void> read_line(std::string_view line, const std::string& where, serve_settings& to) {
    const auto equals = line.find('=');
    const std::string_view name = trimmed(line.substr(0, equals));
    const setting* const one = find_setting(name);
    if (one == nullptr || equals == std::string_view::npos) {
        std::vector<std::string_view> names;
        for (const auto& each : serve_table()) names.push_back(each.name);
        return fail(errc::invalid_argument, fmt::format("{}: '{}' is no setting{}", where, name,
                                                        did_you_mean(name, names)));
    }
    return apply(*one, to, trimmed(line.substr(equals + 1)), fmt::format("{}: {}", where, name));
}

result<void> read_config(const std::string& file, serve_settings& to) {
    std::ifstream in(file);
    if (!in) return fail(errc::invalid_argument, fmt::format("cannot read {}", file));
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
        const std::string_view text = trimmed(line);
        if (text.empty() || text.starts_with('#')) continue;
        const auto read = read_line(text, fmt::format("{}:{}", file, number), to);
        if (!read) return read;
    }
    return {};
}

result<void> read_variable(const setting& one, std::string_view text, serve_settings& to) {
    const std::string where = variable_name(one);
    if (one.kind != setting_kind::list) return apply(one, to, text, where);
    while (!(text = trimmed(text)).empty()) {
        const std::string_view word = text.substr(0, text.find_first_of(" \t"));
        if (auto read = apply(one, to, word, where); !read) return read;
        text.remove_prefix(word.size());
    }
    return {};
}

result<std::string> first_line(const std::string& file, std::string_view option) {
    std::ifstream in(file);
    std::string line;
    if (std::getline(in, line) && !trimmed(line).empty()) return std::string(trimmed(line));
    return fail(errc::invalid_argument,
                fmt::format("{}: {} cannot be read, or its first line is empty", option, file));
}

}  // namespace

std::string option_name(const setting& one) {
    std::string out =
        fmt::format("--{}{}", one.name, one.kind == setting_kind::secret ? "-file" : "");
    std::ranges::replace(out, '_', '-');
    return out;
}

std::string variable_name(const setting& one) {
    std::string out = fmt::format("HOLDFAST_{}", one.name);
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::toupper(c); });
    return out;
}

result<serve_settings> read_settings(const std::string& file,
                                     const std::function<const char*(const char*)>& environment,
                                     std::span<const given_setting> options) {
    serve_settings out;
    if (!file.empty()) {
        if (auto read = read_config(file, out); !read) return std::unexpected(read.error());
    }
    for (const auto& one : serve_table()) {
        const char* const value = environment(variable_name(one).c_str());
        if (value == nullptr || *value == '\0') continue;
        if (auto read = read_variable(one, value, out); !read) return std::unexpected(read.error());
    }
    for (const auto& [which, texts] : options) {
        for (std::string text : texts) {
            const std::string option = option_name(*which);
            if (which->kind == setting_kind::secret) {
                auto line = first_line(text, option);
                if (!line) return std::unexpected(line.error());
                text = std::move(*line);
            }
            auto read = apply(*which, out, text, option);
            if (!read) return std::unexpected(read.error());
        }
    }
    return out;
}

result<void> check(const serve_settings& s) {
    const auto listen = net::parse_listen(s.listen);
    if (!listen) return fail(errc::invalid_argument, "--listen: " + listen.error().detail);
    if (!listen->loopback && s.token.empty()) {
        return fail(errc::invalid_argument,
                    fmt::format("--listen {} can be reached by others, so a token is needed: "
                                "HOLDFAST_TOKEN or --token-file (or listen on 127.0.0.1)",
                                s.listen));
    }
    if (s.engine.starts_with("memory:") && !s.roles.all()) {
        return fail(errc::invalid_argument,
                    "--role: memory: is inside one process, which then must have all roles; for "
                    "several processes say --engine redis://host");
    }
    if (s.redis_port && !s.engine.starts_with("memory:")) {
        return fail(errc::invalid_argument,
                    "--redis-port: serves memory: only; ask the engine itself with redis-cli");
    }
    return push::check(s.push);
}

std::string settings_page() {
    const serve_settings defaults;
    std::string out = "| option | variable | config key | default | |\n|---|---|---|---|---|\n";
    for (const auto& one : serve_table()) {
        const std::string shown = one.show(defaults);
        std::string help(one.help);
        for (auto at = help.find('|'); at != std::string::npos; at = help.find('|', at + 2)) {
            help.insert(at, "\\");
        }
        fmt::format_to(std::back_inserter(out), "| `{}` | `{}` | `{}` | {} | {} |\n",
                       option_name(one), variable_name(one), one.name,
                       shown.empty() ? "" : fmt::format("`{}`", shown), help);
    }
    return out;
}

}  // namespace holdfast::app
