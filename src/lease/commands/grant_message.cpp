// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/grant_message.hpp"

#include <charconv>
#include <utility>

namespace holdfast {

std::optional<handed_off> parse_grant(std::string_view text) {
    const std::size_t first = text.find(' ');
    const std::size_t second = text.find(' ', first + 1);
    if (second == std::string_view::npos) return std::nullopt;
    auto owner = owner_token::parse(text.substr(0, first));
    std::uint64_t fence = 0;
    std::int64_t ms = 0;
    const std::string_view middle = text.substr(first + 1, second - first - 1);
    const std::string_view last = text.substr(second + 1);
    const bool good =
        std::from_chars(middle.data(), middle.data() + middle.size(), fence).ec == std::errc{} &&
        std::from_chars(last.data(), last.data() + last.size(), ms).ec == std::errc{};
    if (!owner || !good) return std::nullopt;
    return handed_off{std::move(*owner), {fence}, std::chrono::milliseconds(ms)};
}

std::optional<evicted> parse_eviction(std::string_view text) {
    constexpr std::string_view verb = " evicted ";
    const std::size_t at = text.find(verb);
    if (at == std::string_view::npos) return std::nullopt;
    auto owner = owner_token::parse(text.substr(0, at));
    if (!owner) return std::nullopt;
    return evicted{std::move(*owner), std::string(text.substr(at + verb.size()))};
}

}  // namespace holdfast
