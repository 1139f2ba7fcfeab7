// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/glob.hpp"

#include <utility>

namespace holdfast::memory {
namespace {

// Matches one character against the element at the pattern's front (not a star), and takes that
// element off the pattern.
bool match_one(std::string_view& pattern, char c) noexcept {
    const char head = pattern.front();
    pattern.remove_prefix(1);
    if (head == '?') return true;
    if (head == '\\' && !pattern.empty()) {
        const char literal = pattern.front();
        pattern.remove_prefix(1);
        return literal == c;
    }
    if (head != '[') return head == c;
    const bool negated = !pattern.empty() && pattern.front() == '^';
    if (negated) pattern.remove_prefix(1);
    bool hit = false;
    while (!pattern.empty() && pattern.front() != ']') {
        if (pattern.front() == '\\' && pattern.size() >= 2) {
            hit |= pattern[1] == c;
            pattern.remove_prefix(2);
        } else if (pattern.size() >= 3 && pattern[1] == '-') {
            auto low = static_cast<unsigned char>(pattern[0]);
            auto high = static_cast<unsigned char>(pattern[2]);
            if (low > high) std::swap(low, high);
            const auto u = static_cast<unsigned char>(c);
            hit |= u >= low && u <= high;
            pattern.remove_prefix(3);
        } else {
            hit |= pattern.front() == c;
            pattern.remove_prefix(1);
        }
    }
    if (!pattern.empty()) pattern.remove_prefix(1);
    return hit != negated;
}

}  // namespace

// Only the last star is ever retried: what an earlier star could absorb, the last one can too.
bool glob_match(std::string_view pattern, std::string_view text) noexcept {
    if (text.empty()) return pattern.empty();  // even "*" wants something, as in Redis
    std::string_view after_star;
    std::string_view star_text;
    bool starred = false;
    while (true) {
        if (!pattern.empty() && pattern.front() == '*') {
            pattern.remove_prefix(1);
            if (pattern.empty()) return true;
            starred = true;
            after_star = pattern;
            star_text = text;
            continue;
        }
        if (text.empty()) return pattern.empty();
        if (!pattern.empty() && match_one(pattern, text.front())) {
            text.remove_prefix(1);
            continue;
        }
        if (!starred || star_text.empty()) return false;
        star_text.remove_prefix(1);
        text = star_text;
        pattern = after_star;
    }
}

}  // namespace holdfast::memory
