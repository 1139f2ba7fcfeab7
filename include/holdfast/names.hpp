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

/// Three things that must not be confused: the name, the owner, and the fence.
///
/// They are distinct types, so that a name cannot be passed where an owner is meant.
namespace holdfast {

/// Returns whether it is UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// The reason of an eviction, for people: 1 to 200 bytes of UTF-8 without
/// control characters. Errors: invalid_argument; the detail says what is wrong with it.
[[nodiscard]] result<void> fit_reason(std::string_view text);

/// The same for what a holder says of itself (holder_note.hpp).
[[nodiscard]] result<void> fit_note(std::string_view text);

class lease;

/// The name of a lock: 1 to 512 bytes of UTF-8 text without control characters. "orders/42".
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

/// The id of a client: drawn once for each, 48 random bits as 12 hex digits. Not secret.
class client_id {
public:
    [[nodiscard]] static client_id draw(entropy& source);

    [[nodiscard]] const std::string& value() const noexcept { return value_; }
    friend auto operator<=>(const client_id&, const client_id&) = default;

private:
    explicit client_id(std::string text) : value_(std::move(text)) {}
    std::string value_;
};

/// The owner of a lease: drawn for each acquisition, 128 random bits as 32 hex digits.
/// Anyone who knows it can release the lease: it is secret, and never logged or listed.
class owner_token {
public:
    [[nodiscard]] static owner_token draw(entropy& source);

    /// Draws an owner that begins with the client's id, so that a listing can show the client. The
    /// other 80 bits are its secret.
    [[nodiscard]] static owner_token draw(entropy& source, const client_id& client);

    /// Parses an owner. Errors: corrupt, if it is not 32 hex digits.
    [[nodiscard]] static result<owner_token> parse(std::string_view text);

    [[nodiscard]] std::string_view value() const noexcept { return {value_.data(), size}; }

    /// Returns the id of the client that drew it, if a client did.
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

/// The fencing token of a lease: strictly increases from one grant of a name to the next, for ever.
/// Send it with every write that the lease protects; the resource keeps the largest fence it
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
