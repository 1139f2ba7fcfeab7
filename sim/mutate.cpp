// SPDX-License-Identifier: Apache-2.0
//
// holdfast_mutate FROM TO FILE...: writes below TO the mutated copies of the files below FROM. Part
// of the build with HOLDFAST_MUTANTS, which compiles the copies instead.
#include "source_mutants.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <string>

namespace {

namespace fs = std::filesystem;

bool write_copy(const fs::path& from, const fs::path& to, const std::string& file) {
    std::ifstream in(from / file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto made = holdfast::sim::mutated_source(file, text);
    if (!made) {
        std::cerr << "sim/mutants.cpp: " << made.error() << '\n';
        return false;
    }
    fs::create_directories((to / file).parent_path());
    std::ofstream out(to / file);
    out << "#include \"mutation.hpp\"\n#line 1 \"" << (from / file).string() << "\"\n" << *made;
    return static_cast<bool>(out.flush());
}

}  // namespace

int main(int argc, char** argv) {
    const std::span words(argv, static_cast<std::size_t>(argc));
    if (words.size() < 3) {
        std::cerr << "usage: holdfast_mutate FROM TO FILE...\n";
        return EXIT_FAILURE;
    }
    for (const std::string_view file : holdfast::sim::mutated_files()) {
        bool asked = false;
        for (const std::string_view word : words.subspan(3)) asked = asked || word == file;
        if (!asked) {
            std::cerr << "sim/mutants.cpp: list " << file << " in sim/CMakeLists.txt\n";
            return EXIT_FAILURE;
        }
    }
    for (const std::string_view file : words.subspan(3)) {
        if (!write_copy(words[1], words[2], std::string(file))) return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
