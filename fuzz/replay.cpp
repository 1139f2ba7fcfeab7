// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target without libFuzzer: on every file of a corpus, and on a few thousand inputs
// made from them by chance, always the same ones. So each compiler and each sanitizer of the tests
// sees the target in seconds; the search for new inputs is libFuzzer's (make fuzz).
#include <holdfast/entropy.hpp>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using input = std::vector<std::uint8_t>;

std::vector<input> read_corpus(const std::filesystem::path& directory) {
    std::vector<input> all;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        std::ifstream file(entry.path(), std::ios::binary);
        all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return all;
}

// Cuts a piece out of one input, and puts it into another, with some bytes changed.
input cross(const input& a, const input& b, holdfast::entropy& chance) {
    const auto below = [&](std::size_t n) {
        return n == 0 ? 0 : static_cast<std::size_t>(chance.below(n));
    };
    const std::size_t from = below(b.size());
    const std::size_t count = below(b.size() - from + 1);
    input made = a;
    const auto at = static_cast<std::ptrdiff_t>(below(a.size() + 1));
    const auto first = b.begin() + static_cast<std::ptrdiff_t>(from);
    made.insert(made.begin() + at, first, first + static_cast<std::ptrdiff_t>(count));
    for (std::size_t i = below(4); i > 0 && !made.empty(); --i) {
        made[below(made.size())] = static_cast<std::uint8_t>(chance.below(256));
    }
    return made;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
        return 2;
    }
    const std::vector<input> corpus = read_corpus(argv[1]);
    if (corpus.empty()) {
        std::fprintf(stderr, "%s: no files\n", argv[1]);
        return 1;
    }
    for (const input& one : corpus) LLVMFuzzerTestOneInput(one.data(), one.size());
    constexpr int crossings = 20'000;
    holdfast::seeded_entropy chance(1);
    for (int i = 0; i < crossings; ++i) {
        const input& a = corpus[chance.below(corpus.size())];
        const input& b = corpus[chance.below(corpus.size())];
        const input made = cross(a, b, chance);
        LLVMFuzzerTestOneInput(made.data(), made.size());
    }
    std::printf("%zu files, %d crossings\n", corpus.size(), crossings);
    return 0;
}
