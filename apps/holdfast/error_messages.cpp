// SPDX-License-Identifier: Apache-2.0
#include "error_messages.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <regex>
#include <vector>

namespace holdfast::app {
namespace {

// " (after 3 ms)", " (after 3 ms, 0 in flight, 0 queued)" and "; next try in 8 ms".
std::string without_counts(std::string_view detail) {
    static const std::regex counts(
        R"( \(after \d+ ms(, \d+ in flight, \d+ queued)?\)|; next try in \d+ ms)");
    return std::regex_replace(std::string(detail), counts, "");
}

// " (SQLite, writing: disk I/O error, code 778, No space left on device)".
std::string without_sqlites_words(const std::string& text) {
    static const std::regex own(R"( \(SQLite, .*, code \d+[^)]*\))");
    return std::regex_replace(text, own, "");
}

/// One server's trouble, as the Redis client tells it: "redis PLACE: PHASE: WHY".
struct server_trouble {
    std::string place;
    std::string phase;
    std::string why;
};

std::vector<server_trouble> troubles_in(const std::string& text) {
    static const std::regex form(R"(redis (\S+): (resolve|connect|handshake): ([^;]*))");
    std::vector<server_trouble> found;
    for (std::sregex_iterator one(text.begin(), text.end(), form), end; one != end; ++one) {
        found.push_back({(*one)[1], (*one)[2], (*one)[3]});
    }
    return found;
}

constexpr std::string_view see_doctor = "; try 'holdfast doctor'";

std::string sentence_for(const server_trouble& it) {
    const auto says = [&](std::string_view part) { return it.why.contains(part); };
    if (it.phase == "resolve") {
        return fmt::format("there is no host for {} ({}): look at the engine's URL", it.place,
                           it.why);
    }
    if (it.phase == "connect") {
        return fmt::format(
            "cannot reach the Redis server at {} ({}): look whether it runs, and at the URL",
            it.place, it.why);
    }
    if (says("NOAUTH")) {
        return fmt::format(
            "the Redis server at {} wants a password: give it one in the URL, by HOLDFAST_ENGINE "
            "or --engine-file",
            it.place);
    }
    if (says("WRONGPASS") || says("password is wrong")) {
        return fmt::format(
            "the Redis server at {} refuses the user or the password: look at the engine's URL",
            it.place);
    }
    if (says("NOPERM")) {
        return fmt::format("the Redis server at {} does not let this user do what it must ({}){}",
                           it.place, it.why, see_doctor);
    }
    if (says("Protocol error")) {
        return fmt::format("what answers at {} is no Redis server: look at the engine's URL",
                           it.place);
    }
    if (says("no answer in time")) {
        return fmt::format(
            "the Redis server at {} is connected and does not answer: look whether it hangs, or "
            "whether one side speaks TLS and the other does not",
            it.place);
    }
    return fmt::format("the Redis server at {} cannot be used: {}", it.place, it.why);
}

// Of a quorum: all that did not answer, and why the first of them did not.
std::string sentence_for(const std::vector<server_trouble>& all) {
    std::vector<std::string> places;
    for (const server_trouble& one : all) places.push_back(one.place);
    return fmt::format("too few servers answered: {} did not ({}){}", fmt::join(places, ", "),
                       all.front().why, see_doctor);
}

// "'a': 0 of 3 granted: HOST unavailable, …", and then the first one's detail.
std::optional<std::string> votes_in(const std::string& text) {
    static const std::regex form(R"(^('.*': \d+ of \d+ [a-z]+: [^;]*);)");
    std::smatch found;
    if (!std::regex_search(text, found, form)) return std::nullopt;
    return found[1].str().append(see_doctor);
}

}  // namespace

std::string plain_words(std::string_view detail) {
    const std::string text = without_sqlites_words(without_counts(detail));
    const auto troubles = troubles_in(text);
    if (text.starts_with("WRONGTYPE ")) {
        return "another program keeps a value of another kind there, and it was not touched: use "
               "another name";
    }
    if (troubles.empty()) {
        // "EVALSHA to PLACE: WHY", from a server that was there before.
        static const std::regex sent(R"(^[A-Z]+ to (\S+): (.*)$)");
        std::smatch found;
        if (!std::regex_match(text, found, sent)) return text;
        return fmt::format("the Redis server at {} did not answer: {}", found[1].str(),
                           found[2].str());
    }
    if (auto votes = votes_in(text)) return *std::move(votes);
    return troubles.size() > 1 ? sentence_for(troubles) : sentence_for(troubles.front());
}

std::string doctors_words(std::string_view detail) {
    std::string said = plain_words(detail);
    if (said.ends_with(see_doctor)) said.resize(said.size() - see_doctor.size());
    return said;
}

}  // namespace holdfast::app
