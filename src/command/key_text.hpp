// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

/// The Redis keys of traffic control: the only place that puts them together.
///
///     msg:processed:room7:42             once and cooldown: prefix and key, nothing else
///     limit:{user/42}:7:token_bucket     everything else: prefix, key, the key's length, the kind
///     limit:{user/42}:7:fixed_window:day … and the limit's name, if a limiter has several
///
/// A key of the second form can be read from its end: a kind and a name hold no colon, the length
/// tells where the caller's key begins, and before that is the prefix. So two of them are equal
/// only if prefix, key, kind and name are, whatever their users choose. A plain key of that form,
/// or one that locks use, is refused. The braces are the hash tag that keeps the limits of one
/// key in one slot of a Cluster.
namespace holdfast::detail {

/// The longest prefix, key, and name of a limit.
inline constexpr std::size_t max_prefix_bytes = 128;
inline constexpr std::size_t max_key_bytes = 512;
inline constexpr std::size_t max_limit_name_bytes = 64;

/// What is kept under a key.
namespace kept {
inline constexpr std::string_view fixed_window = "fixed_window";
inline constexpr std::string_view sliding_log = "sliding_log";
inline constexpr std::string_view sliding_counter = "sliding_counter";
inline constexpr std::string_view token_bucket = "token_bucket";
inline constexpr std::string_view leaky_bucket = "leaky_bucket";
inline constexpr std::string_view permits = "permits";
inline constexpr std::string_view latch = "latch";
inline constexpr std::string_view cache_pending = "cache_pending";
inline constexpr std::string_view cache_changes = "cache_changes";
inline constexpr std::string_view bloom = "bloom";
inline constexpr std::string_view user_sessions = "user_sessions";
inline constexpr std::string_view board_players = "board_players";
inline constexpr std::string_view board_members = "board_members";
inline constexpr std::string_view board_scores = "board_scores";
inline constexpr std::string_view board_map = "board_map";
inline constexpr std::string_view board_pending = "board_pending";
inline constexpr std::string_view board_taken = "board_taken";
inline constexpr std::string_view channel_stream = "channel_stream";
inline constexpr std::string_view leaky_list = "leaky_list";
inline constexpr std::string_view leaky_state = "leaky_state";
}  // namespace kept

/// A Redis key put together without an allocation. What does not fit is cut off: it is longer than
/// anything that the checks let pass.
class key_text {
public:
    void add(std::string_view part) {
        part = part.substr(0, room_.size() - size_);
        part.copy(room_.data() + size_, part.size());
        size_ += part.size();
    }
    [[nodiscard]] std::string_view view() const noexcept { return {room_.data(), size_}; }

private:
    std::array<char, max_prefix_bytes + max_key_bytes + max_limit_name_bytes + 32> room_;
    std::size_t size_ = 0;
};

/// Prefix and key, for once and cooldown, whose keys a user may choose to the letter.
[[nodiscard]] key_text plain_key(std::string_view prefix, std::string_view key);

/// `kind` is one of those above; `name` is a limit's, or empty.
[[nodiscard]] key_text kept_key(std::string_view prefix, std::string_view key,
                                std::string_view kind, std::string_view name = {});

/// 1 to 64 of A-Z a-z 0-9 . _ -
[[nodiscard]] bool is_limit_name(std::string_view name) noexcept;

/// Has it the form that kept_key() makes?
[[nodiscard]] bool is_kept_key(std::string_view text) noexcept;

/// Errors: invalid_argument, if plain_key() of them would be a key of Holdfast's own.
[[nodiscard]] result<void> check_plain_key(std::string_view prefix, std::string_view key);

}  // namespace holdfast::detail
