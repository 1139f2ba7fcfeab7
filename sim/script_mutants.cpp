// SPDX-License-Identifier: Apache-2.0
#include "script_mutants.hpp"

#include "mutants.hpp"

#ifdef HOLDFAST_MUTANTS
#include "mutation.hpp"
#endif

#include <holdfast/engine/command.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

namespace holdfast::sim {

#ifdef HOLDFAST_MUTANTS
namespace {

const mutant* chosen_script_mutant() {
    static const mutant* const chosen = [] {
        const auto all = all_mutants();
        const auto found = std::ranges::find_if(
            all, [](const mutant& one) { return one.file.empty() && mutation(one.name); });
        return found == all.end() ? nullptr : &*found;
    }();
    return chosen;
}

// By the SHA-1 of the script as it should be. One seed after the other runs here, on one thread.
std::map<std::string, script, std::less<>>& mutated() {
    static std::map<std::string, script, std::less<>> all;
    return all;
}

}  // namespace

void mutate_script(std::vector<std::string_view>& words) {
    const mutant* chosen = chosen_script_mutant();
    if (chosen == nullptr || words.size() < 2) return;
    if (words[0] == "EVALSHA") {
        const auto known = mutated().find(words[1]);
        if (known != mutated().end()) words[1] = known->second.sha1();
        return;
    }
    if (words[0] != "EVAL") return;
    std::string source(words[1]);
    const std::size_t at = source.find(chosen->text);
    if (at == std::string::npos) return;
    const std::string sha = script(source).sha1();
    source.replace(at, chosen->text.size(), chosen->instead);
    const auto [place, made] = mutated().try_emplace(sha, source);
    words[1] = place->second.source();
}
#else
void mutate_script(std::vector<std::string_view>& /*words*/) {}
#endif

}  // namespace holdfast::sim
