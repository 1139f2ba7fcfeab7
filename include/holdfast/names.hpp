// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/entropy.hpp>
#include <holdfast/error.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// The three things that must not be confused: what is held, by whom, and which holding it is.
///
/// They are distinct types, so that a name cannot be passed where an owner is meant.
namespace holdfast {

/// Is it text in UTF-8?
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// Why a lease was taken from its holder, in words for people: 1 to 200 bytes of UTF-8 without
/// control characters. Errors: invalid_argument; the detail says what is wrong with it.
[[nodiscard]] result<void> fit_reason(std::string_view text);

class lease;

/// What is held: 1 to 512 bytes of UTF-8 text without control characters. "orders/42".
class lock_name {
public:
    static constexpr std::size_t max_bytes = 512;

    /// Errors: invalid_argument (empty, too long, not text); the detail says which.
    [[nodiscard]] static result<lock_name> make(std::string_view text);

    [[nodiscard]] const std::string& value() const noexcept { return value_; }
    friend auto operator<=>(const lock_name&, const lock_name&) = default;

private:
    friend class lease;  // one that was moved from has an empty name
    explicit lock_name(std::string_view text) : value_(text) {}
    std::string value_;
};

/// Which client asks: drawn once for each, 48 random bits as 12 hex digits. Not a secret.
class client_id {
public:
    [[nodiscard]] static client_id draw(entropy& source);

    [[nodiscard]] const std::string& value() const noexcept { return value_; }
    friend auto operator<=>(const client_id&, const client_id&) = default;

private:
    explicit client_id(std::string text) : value_(std::move(text)) {}
    std::string value_;
};

/// Who holds it: drawn anew for each acquisition, 128 random bits as 32 hex digits.
/// Whoever knows it can release the lease: it is a secret, and is never logged or listed.
class owner_token {
public:
    [[nodiscard]] static owner_token draw(entropy& source);

    /// One that begins with the client's id, so that a listing can tell whose it is. The other 80
    /// bits are its secret.
    [[nodiscard]] static owner_token draw(entropy& source, const client_id& client);

    /// An owner that came over a wire. Errors: corrupt, if it is not 32 hex digits.
    [[nodiscard]] static result<owner_token> parse(std::string_view text);

    [[nodiscard]] std::string_view value() const noexcept { return {value_.data(), size}; }

    /// The id of the client that drew it, if it was drawn by one.
    [[nodiscard]] std::string_view client() const noexcept { return value().substr(0, 12); }
    friend auto operator<=>(const owner_token&, const owner_token&) = default;

private:
    static constexpr std::size_t size = 32;
    // Not a string: it goes into every request, and is copied more often than anything else.
    // Requires: both together have `size` bytes.
    owner_token(std::string_view front, std::span<const char> back) {
        std::ranges::copy(back, std::ranges::copy(front, value_.begin()).out);
    }
    std::array<char, size> value_;
};

/// Which holding of a name this is: strictly grows from one grant of a name to the next, for ever.
/// Send it along with every write that the lease protects; the resource keeps the largest fence it
/// has seen and refuses a smaller one. Below 2^53, so that it survives JSON and Lua.
struct fencing_token {
    std::uint64_t value = 0;

    friend auto operator<=>(const fencing_token&, const fencing_token&) = default;
};

[[nodiscard]] inline std::string to_string(fencing_token fence) {
    return std::to_string(fence.value);
}

}  // namespace holdfast

template <>
struct std::hash<holdfast::lock_name> {
    std::size_t operator()(const holdfast::lock_name& name) const noexcept {
        return std::hash<std::string>{}(name.value());
    }
};

template <>
struct std::hash<holdfast::owner_token> {
    std::size_t operator()(const holdfast::owner_token& owner) const noexcept {
        return std::hash<std::string_view>{}(owner.value());
    }
};
