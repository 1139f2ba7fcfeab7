// SPDX-License-Identifier: Apache-2.0
#include "lease/ordered/name_keys.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::ordered {

// The next key that does not begin so. No text ends in 0xff: names are UTF-8.
key_range with_prefix(std::string prefix) {
    std::string end = prefix;
    ++end.back();
    return {std::move(prefix), std::move(end)};
}

std::string name_keys::entry(std::string_view name, std::string_view owner) const {
    return fmt::format("{}/{}/{}", root_, name, owner);
}

key_range name_keys::queue(std::string_view name) const {
    return with_prefix(fmt::format("{}/{}/", root_, name));
}

key_range name_keys::all(std::string_view name_prefix) const {
    return with_prefix(fmt::format("{}/{}", root_, name_prefix));
}

std::string name_keys::eviction(std::string_view name, std::string_view owner) const {
    return fmt::format("{}.evicted/{}/{}", root_, name, owner);
}

key_range name_keys::evictions(std::string_view name) const {
    return with_prefix(fmt::format("{}.evicted/{}/", root_, name));
}

std::optional<std::string_view> name_keys::name_of(std::string_view key) const {
    const std::size_t slash = key.rfind('/');
    if (slash == std::string_view::npos || slash <= root_.size() + 1 || !key.starts_with(root_) ||
        key[root_.size()] != '/') {
        return std::nullopt;
    }
    const std::string_view last = key.substr(slash + 1);
    const bool hex = !last.empty() && std::ranges::all_of(last, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    });
    if (!hex) return std::nullopt;
    return key.substr(root_.size() + 1, slash - root_.size() - 1);
}

}  // namespace holdfast::ordered
