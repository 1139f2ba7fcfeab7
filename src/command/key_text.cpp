// SPDX-License-Identifier: Apache-2.0
#include "command/key_text.hpp"

#include "core/own_keys.hpp"

#include <fmt/format.h>

#include <charconv>

namespace holdfast::detail {
namespace {

constexpr std::array kinds{
    kept::fixed_window,  kept::sliding_log,    kept::sliding_counter, kept::token_bucket,
    kept::leaky_bucket,  kept::permits,        kept::latch,           kept::cache_pending,
    kept::cache_changes, kept::bloom,          kept::user_sessions,   kept::board_players,
    kept::board_members, kept::board_scores,   kept::board_map,       kept::board_pending,
    kept::board_taken,   kept::channel_stream, kept::leaky_list,      kept::leaky_state};

bool is_kind(std::string_view text) noexcept {
    return std::ranges::find(kinds, text) != kinds.end();
}

// Takes the part behind the last colon off.
std::string_view take_last(std::string_view& text) noexcept {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return {};
    const std::string_view last = text.substr(colon + 1);
    text = text.substr(0, colon);
    return last;
}

}  // namespace

bool is_limit_name(std::string_view name) noexcept {
    return !name.empty() && name.size() <= max_limit_name_bytes &&
           std::ranges::all_of(name, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_' || c == '-';
           });
}

key_text plain_key(std::string_view prefix, std::string_view key) {
    key_text text;
    text.add(prefix);
    text.add(key);
    return text;
}

key_text kept_key(std::string_view prefix, std::string_view key, std::string_view kind,
                  std::string_view name) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), key.size()).ptr;
    key_text text;
    text.add(prefix);
    text.add("{");
    text.add(key);
    text.add("}:");
    text.add({digits.data(), static_cast<std::size_t>(end - digits.data())});
    text.add(":");
    text.add(kind);
    if (name.empty()) return text;
    text.add(":");
    text.add(name);
    return text;
}

bool is_kept_key(std::string_view text) noexcept {
    std::string_view kind = take_last(text);
    std::string_view digits = take_last(text);
    if (is_limit_name(kind) && is_kind(digits)) {  // that was its name, which may be any word
        kind = digits;
        digits = take_last(text);
    }
    std::size_t size = 0;
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (wrong != std::errc{} || end != digits.data() + digits.size()) return false;
    if (!is_kind(kind) || !text.ends_with('}') || size > max_key_bytes) return false;
    return text.size() >= size + 2 && text[text.size() - size - 2] == '{';
}

result<void> check_plain_key(std::string_view prefix, std::string_view key) {
    const key_text text = plain_key(prefix, key);
    const std::string_view whole = text.view();
    if (!is_kept_key(whole) && !is_shared_key(whole) && !is_side_key(whole)) return {};
    return fail(errc::invalid_argument,
                fmt::format("key: '{}' has the form of a key of Holdfast's own: choose another "
                            "prefix or key",
                            whole));
}

}  // namespace holdfast::detail
