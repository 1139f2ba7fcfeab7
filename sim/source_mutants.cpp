// SPDX-License-Identifier: Apache-2.0
#include "source_mutants.hpp"

#include "mutants.hpp"

#include <algorithm>
#include <map>

namespace holdfast::sim {
namespace {

// A text that is looked for, and the part of it that is replaced.
struct target {
    std::string text;
    std::size_t begin;
    std::size_t size;
};

target target_of(const mutant& one) {
    std::string text(one.text);
    const std::size_t open = text.find("[[");
    const std::size_t close = text.rfind("]]");
    if (open == std::string::npos || close == std::string::npos) return {text, 0, text.size()};
    text.erase(close, 2).erase(open, 2);
    return {text, open, close - open - 2};
}

std::string switched(const mutant& one, const std::string& part) {
    const std::string asked = "::holdfast::mutation(\"" + std::string(one.name) + "\")";
    const std::string instead(one.instead);
    if (part.ends_with(';')) {
        return "if (" + asked + ") {\n" + instead + "\n} else {\n" + part + "\n}";
    }
    return "(" + asked + " ? (" + instead + ") : (" + part + "))";
}

}  // namespace

std::vector<std::string_view> mutated_files() {
    std::vector<std::string_view> files;
    for (const mutant& one : all_mutants()) {
        if (!one.file.empty()) files.push_back(one.file);
    }
    std::ranges::sort(files);
    const auto rest = std::ranges::unique(files);
    files.erase(rest.begin(), rest.end());
    return files;
}

std::expected<std::string, std::string> mutated_source(std::string_view file,
                                                       const std::string& text) {
    struct place {
        const mutant* one;
        std::size_t size;
    };
    std::map<std::size_t, place> places;
    for (const mutant& one : all_mutants()) {
        if (one.file != file) continue;
        const target sought = target_of(one);
        const std::size_t at = text.find(sought.text);
        if (at == std::string::npos || text.find(sought.text, at + 1) != std::string::npos) {
            return std::unexpected(std::string(one.name) + ": its text must be in " +
                                   std::string(file) + " exactly once");
        }
        if (!places.try_emplace(at + sought.begin, &one, sought.size).second) {
            return std::unexpected(std::string(one.name) + ": another mutant has its place");
        }
    }
    std::string made;
    std::size_t done = 0;
    for (const auto& [at, found] : places) {
        const auto& [one, size] = found;
        if (at < done) return std::unexpected(std::string(one->name) + ": overlaps another mutant");
        made += text.substr(done, at - done) + switched(*one, text.substr(at, size));
        done = at + size;
    }
    return made + text.substr(done);
}

}  // namespace holdfast::sim
