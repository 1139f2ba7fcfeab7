// SPDX-License-Identifier: Apache-2.0
#include <holdfast/engine/suggest.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace holdfast {
namespace {

// Levenshtein's distance, with two letters in the wrong order as one slip; three rows at a time.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> above2(b.size() + 1);
    std::vector<std::size_t> above(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        above2.swap(above);
        above.swap(row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = std::min(row[j], above2[j - 2] + 1);
        }
    }
    return row.back();
}

// The shortest word that begins so, for one who wrote only its beginning. A single letter is the
// beginning of too many.
std::string_view completed(std::string_view word, std::span<const std::string_view> known) {
    constexpr std::size_t enough = 2;
    const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size());
    if (word.size() - dashes < enough) return {};
    std::string_view best;
    for (const std::string_view candidate : known) {
        const bool shorter = best.empty() || candidate.size() < best.size();
        if (candidate.starts_with(word) && shorter) best = candidate;
    }
    return best;
}

// A slip of the fingers: a third of the letters at most.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
    std::string_view best;
    std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string_view candidate : known) {
        const std::size_t d = distance(word, candidate);
        if (d < best_distance) {
            best_distance = d;
            best = candidate;
        }
    }
    return best;
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
    constexpr std::size_t longest = 64;  // nobody mistypes a whole paragraph
    if (word.empty() || word.size() > longest) return {};
    std::string_view best = completed(word, known);
    if (best.empty()) best = nearest(word, known);
    if (best.empty()) return {};
    return "; did you mean '" + std::string(best) + "'?";
}

}  // namespace holdfast
