// SPDX-License-Identifier: Apache-2.0
#include "lease/quorum/quorum_report.hpp"

#include "core/require.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace holdfast::detail {
namespace {

struct verbs {
    std::string_view yes;
    std::string_view no;
};

constexpr std::array verbs_by_request{
    verbs{"granted", "busy"},
    verbs{"renewed", "lost"},
    verbs{"released", "lost"},
    verbs{"left", "lost"},
};

bool is_silence(errc code) {
    return code == errc::outcome_unknown || code == errc::timed_out;
}

std::string word_of(const node_word& word, const verbs& spoken, duration node_timeout) {
    using kind = node_word::kind;
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(node_timeout).count();
    switch (word.said) {
        case kind::skipped: return "not asked, it is being left";
        case kind::asked: return "not heard yet";
        case kind::yes: return std::string(spoken.yes);
        case kind::no: return std::string(spoken.no);
        case kind::failed: break;
    }
    const errc code = word.why ? word.why->code : errc::unavailable;
    if (is_silence(code)) {
        return fmt::format("no answer in {} ms", ms);
    }
    return std::string(to_string(code));
}

}  // namespace

std::string report_of(const quorum_machine& machine, std::span<const std::string> labels,
                      duration node_timeout) {
    const verbs& spoken = verbs_by_request[machine.request().index()];
    const auto& words = machine.words();
    require(labels.size() == words.size(), "labels.size() == machine.words().size()");
    const auto yes = std::ranges::count(words, node_word::kind::yes, &node_word::said);
    std::string text = fmt::format("{} of {} {}", yes, words.size(), spoken.yes);
    for (std::size_t i = 0; i < words.size(); ++i) {
        text += fmt::format("{}{} {}", i == 0 ? ": " : ", ", labels[i],
                            word_of(words[i], spoken, node_timeout));
    }
    // Silence explains nothing; who said why is heard first.
    const auto explains = [](const node_word& w) { return w.why && !w.why->detail.empty(); };
    auto first = std::ranges::find_if(
        words, [&](const node_word& w) { return explains(w) && !is_silence(w.why->code); });
    if (first == words.end()) first = std::ranges::find_if(words, explains);
    if (first != words.end()) {
        text += fmt::format("; {}: {}", labels[static_cast<std::size_t>(first - words.begin())],
                            first->why->detail);
    }
    return text;
}

}  // namespace holdfast::detail
