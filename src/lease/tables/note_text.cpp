// SPDX-License-Identifier: Apache-2.0
#include "lease/tables/note_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace holdfast::sql {
namespace {

// The next word of a text, as a number.
std::optional<std::int64_t> next_number(std::string_view& text) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (problem != std::errc{} || end != word.data() + word.size()) return std::nullopt;
    return value;
}

}  // namespace

std::string note_text(const note& one) {
    return fmt::format("{} {} {} {}", one.to.number, one.push.owner.value(), one.push.fence.value,
                       std::chrono::duration_cast<std::chrono::microseconds>(one.push.ttl).count());
}

std::optional<note> parse_note(std::int64_t process, std::string_view text) {
    const auto number = next_number(text);
    const std::size_t space = text.find(' ');
    if (!number || space == std::string_view::npos) return std::nullopt;
    const auto owner = owner_token::parse(text.substr(0, space));
    text.remove_prefix(space + 1);
    const auto fence = next_number(text);
    const auto claim = next_number(text);
    if (!owner || !fence || !claim || *fence < 0 || *claim < 0) return std::nullopt;
    return note{{process, *number},
                {*owner, {static_cast<std::uint64_t>(*fence)}, std::chrono::microseconds(*claim)}};
}

}  // namespace holdfast::sql
