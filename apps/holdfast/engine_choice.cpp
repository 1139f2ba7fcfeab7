// SPDX-License-Identifier: Apache-2.0
#include "engine_choice.hpp"

#include "error_output.hpp"

#include <holdfast/engine/url.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <sys/stat.h>
#include <system_error>

namespace holdfast::app {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

// A path as a part of a URL.
std::string encoded(std::string_view path) {
    std::string out;
    for (const char c : path) {
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                           std::string_view("/-._~").contains(c);
        if (plain) {
            out += c;
        } else {
            out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        }
    }
    return out;
}

// Where a user's programs keep what outlives them, by the XDG base directory specification.
result<fs::path> state_directory() {
    if (const fs::path said = variable("XDG_STATE_HOME"); said.is_absolute()) return said;
    if (const fs::path home = variable("HOME"); home.is_absolute()) {
        return home / ".local" / "state";
    }
    return fail(errc::invalid_argument,
                "there is no HOME to keep leases under: set HOLDFAST_ENGINE, or use --engine URL");
}

result<void> make_directory(const fs::path& ours) {
    std::error_code why;
    fs::create_directories(ours.parent_path(), why);
    const bool made = !why && ::mkdir(ours.c_str(), 0700) == 0;
    if (!why && !made && errno != EEXIST) why.assign(errno, std::generic_category());
    if (why) {
        return fail(errc::unavailable,
                    fmt::format("cannot make the directory {} for the leases ({}): fix that, set "
                                "HOLDFAST_ENGINE, or use --engine URL",
                                ours.native(), why.message()));
    }
    return {};
}

result<std::string> usual_engine(purpose what) {
    const auto state = state_directory();
    if (!state) return std::unexpected(state.error());
    const fs::path ours = *state / "holdfast";
    if (what == purpose::work) {
        if (auto made = make_directory(ours); !made) return std::unexpected(made.error());
    }
    return fmt::format("sqlite:{}", encoded((ours / "holdfast.db").native()));
}

result<std::string> read_file(const std::string& name) {
    std::ifstream file(name);
    std::string line;
    if (!std::getline(file, line) && line.empty()) {
        const int why = errno;
        return fail(errc::invalid_argument,
                    fmt::format("--engine-file: cannot read a URL from {} ({})", name,
                                why == 0 ? "it is empty" : std::generic_category().message(why)));
    }
    const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
    std::erase_if(line, blank);
    if (!line.empty()) return line;
    return fail(
        errc::invalid_argument,
        fmt::format("--engine-file: the first line of {} is empty; it must be a URL", name));
}

bool is_usual(const engine_options& options) {
    return options.url.empty() && options.file.empty() && variable("HOLDFAST_ENGINE").empty();
}

}  // namespace

void add_engine_options(CLI::App& to, engine_options& options) {
    to.add_option("--engine", options.url, "The engine")
        ->check([](const std::string& said) {  // an unset variable of a script, most likely
            return said.empty() ? "is empty: name an engine, or leave it out" : std::string();
        })
        ->type_name("URL")
        ->default_str("$HOLDFAST_ENGINE, or your own file");
    to.add_option("--engine-file", options.file, "A file whose first line is the URL")
        ->type_name("FILE");
    to.add_flag_callback("-v,--verbose", &complain_in_detail, "Print more to stderr");
}

result<std::string> chosen_engine(const engine_options& options, purpose what) {
    if (!options.url.empty() && !options.file.empty()) {
        return fail(errc::invalid_argument, "use --engine or --engine-file, not both");
    }
    if (!options.url.empty()) return options.url;
    if (!options.file.empty()) return read_file(options.file);
    if (std::string said = variable("HOLDFAST_ENGINE"); !said.empty()) return said;
    return usual_engine(what);
}

result<client> open_shared(const engine_options& options, purpose what) {
    const auto url = chosen_engine(options, what);
    if (!url) return std::unexpected(url.error());
    if (const auto parsed = parse_url(*url); parsed && parsed->scheme == "memory") {
        return fail(errc::invalid_argument,
                    "memory: is inside one process, and nobody else would see it: take "
                    "sqlite:/file for one machine, or redis://host for many");
    }
    const bool only_look = what == purpose::look && is_usual(options);
    return open(only_look ? *url + "?create=off" : *url);
}

void hide_passwords(int argc, char** argv) noexcept {
    for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
        char* const scheme = std::strstr(argv[i], "://");
        if (scheme == nullptr) continue;
        char* const begin = scheme + 3;
        char* const end = begin + std::strcspn(begin, "/?");
        char* at = end;
        for (char* c = begin; c != end; ++c) {
            if (*c == '@') at = c;
        }
        char* const colon = std::find(begin, at, ':');
        if (at != end && colon != at) std::fill(colon + 1, at, '*');
    }
}

}  // namespace holdfast::app
