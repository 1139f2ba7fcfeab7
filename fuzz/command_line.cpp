// SPDX-License-Identifier: Apache-2.0
//
// Whatever words the command line is given, it understands them or says in some lines what is wrong
// with them. Nothing of what they ask for is done. Words are divided by line ends.
#include "command_line_parser.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t most = 1000;
    std::string text(reinterpret_cast<const char*>(data), std::min(size, most));
    std::ranges::replace(text, '\0', ' ');
    std::vector<const char*> words;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        words.push_back(text.data() + at);
        if (end < text.size()) text[end] = '\0';
        at = end + 1;
    }
    const auto asked = holdfast::app::read_words(words);
    if (asked.run) return 0;
    if (asked.text.empty()) std::abort();
    const bool wrong = asked.code != holdfast::app::exit_code::success;
    const auto lines = std::ranges::count(asked.text, '\n');
    if (wrong && (lines < 2 || asked.text.starts_with("holdfast: \n"))) std::abort();
    return 0;
}
