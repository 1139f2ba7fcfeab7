// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What a cache keeps under a key: one Redis string, a header of 78 bytes and the value.
///
///     offset  bytes  what
///          0      3  "hc1"
///          3      1  kind: 'v' a value, 'n' the source has nothing, '-' nothing yet, being loaded
///          4     16  soft expiry, the server's time in us
///         20     10  how long the load took, us
///         30     16  lease until, the server's time in us; 0: nobody loads it (kind '-': PX says)
///         46     32  token of the last lease
///         78         the value
///
/// A string and not a hash, so that a hit is a plain GET. The fields have fixed places, so that a
/// script takes the lease of a large value without copying it. The key's own expiry is the hard
/// one; every entry has one.
namespace holdfast::detail {

inline constexpr std::size_t entry_header_bytes = 78;
inline constexpr std::size_t load_token_bytes = 32;

enum class entry_kind : char { value = 'v', absent = 'n', loading = '-' };

/// Views into the entry that it was read from.
struct entry_view {
    entry_kind kind = entry_kind::loading;
    std::int64_t soft_us = 0;
    std::int64_t took_us = 0;
    std::int64_t lease_us = 0;
    std::string_view token;
    std::string_view value;
};

/// Nothing, if the text is no entry of a cache.
[[nodiscard]] std::optional<entry_view> read_entry(std::string_view text);

/// An entry of kind '-': the lease alone.
[[nodiscard]] std::array<char, entry_header_bytes> lease_entry(std::string_view token);

/// Tokens of one process: 64 random bits, then a number that grows. Nobody has to draw entropy for
/// each read.
/// Thread safety: all members may be called from any thread.
class token_source {
public:
    explicit token_source(std::uint64_t process) noexcept : process_(process) {}
    [[nodiscard]] std::array<char, load_token_bytes> next() noexcept;
    [[nodiscard]] std::string process_text() const;

private:
    std::uint64_t process_;
    std::atomic<std::uint64_t> count_ = 0;
};

[[nodiscard]] inline std::string_view view_of(const std::array<char, load_token_bytes>& token) {
    return {token.data(), token.size()};
}

}  // namespace holdfast::detail
