// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What an engine that speaks Redis commands answers: one value of the RESP2 kinds.
namespace holdfast {

class reply {
public:
    enum class kind : std::uint8_t { nil, status, error, integer, string, array };

    /// nil: Redis's "there is nothing".
    reply() = default;

    [[nodiscard]] static reply nil() { return {}; }
    [[nodiscard]] static reply status(std::string_view text) { return {kind::status, text}; }
    [[nodiscard]] static reply error(std::string_view text) { return {kind::error, text}; }
    [[nodiscard]] static reply string(std::string_view text) { return {kind::string, text}; }
    [[nodiscard]] static reply integer(std::int64_t value);
    [[nodiscard]] static reply array(std::vector<reply> elements);

    [[nodiscard]] kind type() const noexcept { return kind_; }
    [[nodiscard]] bool is_nil() const noexcept { return kind_ == kind::nil; }
    [[nodiscard]] bool is_error() const noexcept { return kind_ == kind::error; }

    /// The text of a status, an error or a string; empty for the other kinds.
    [[nodiscard]] const std::string& text() const& noexcept { return text_; }
    [[nodiscard]] std::string&& text() && noexcept { return std::move(text_); }

    /// The value of an integer; 0 for the other kinds.
    [[nodiscard]] std::int64_t number() const noexcept { return number_; }

    /// The elements of an array; empty for the other kinds.
    [[nodiscard]] const std::vector<reply>& elements() const& noexcept { return elements_; }
    [[nodiscard]] std::vector<reply>&& elements() && noexcept { return std::move(elements_); }

    friend bool operator==(const reply&, const reply&) = default;

private:
    reply(kind k, std::string_view text) : kind_(k), text_(text) {}

    kind kind_ = kind::nil;
    std::int64_t number_ = 0;
    std::string text_;
    std::vector<reply> elements_;
};

/// One line for a person or a test's failure: `["a", (integer) 1, (nil)]`. Strings are escaped.
[[nodiscard]] std::string to_string(const reply& r);

/// The error that a server's error reply means, by its first word: NOAUTH is `denied`, LOADING is
/// `unavailable`, WRONGTYPE is `corrupt`, … The detail says what to do.
/// Requires: r.is_error().
[[nodiscard]] holdfast::error to_error(const reply& r);

}  // namespace holdfast
