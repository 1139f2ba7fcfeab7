// SPDX-License-Identifier: Apache-2.0
#include "conformance/lease/testbeds/stored_names.hpp"

#include "core/own_keys.hpp"

#include <algorithm>

namespace holdfast::test {

std::vector<std::string> names_only(const reply& keys) {
    std::vector<std::string> rest;
    for (const reply& key : keys.elements()) {
        if (!is_shared_key(key.text())) rest.push_back(key.text());
    }
    return rest;
}

std::vector<std::string> without_repeats(std::vector<std::string> all) {
    std::ranges::sort(all);
    const auto rest = std::ranges::unique(all);
    all.erase(rest.begin(), rest.end());
    return all;
}

}  // namespace holdfast::test
