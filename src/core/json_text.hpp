// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// JSON that we write, one object to a line. Nothing here reads it.
namespace holdfast::detail {

/// A string of JSON. What is in it may be anything: names and URLs are other people's words. It is
/// exact, with control characters escaped; only a byte that is no text becomes U+FFFD.
[[nodiscard]] std::string json_quoted(std::string_view text);

/// The members of a JSON object, in the order they are put. What is not there is left out.
class json_object {
public:
    void raw(std::string_view name, const std::string& value) {
        parts_.push_back(fmt::format("\"{}\": {}", name, value));
    }
    void put(std::string_view name, std::string_view text) { raw(name, json_quoted(text)); }
    void put(std::string_view name, const char* text) { raw(name, json_quoted(text)); }
    void put(std::string_view name, std::same_as<bool> auto yes) {
        raw(name, yes ? "true" : "false");
    }
    /// To six digits, and to the last before the point.
    void put(std::string_view name, double number) {
        const bool large = number >= 1e5 || number <= -1e5;
        raw(name, large ? fmt::format("{:.0f}", number) : fmt::format("{:.6g}", number));
    }
    template <std::integral Number>
        requires(!std::same_as<Number, bool>)
    void put(std::string_view name, Number number) {
        raw(name, fmt::format("{}", number));
    }
    template <class Value>
    void put(std::string_view name, const std::optional<Value>& value) {
        if (value) put(name, *value);
    }
    [[nodiscard]] bool empty() const { return parts_.empty(); }
    [[nodiscard]] std::string text() const {
        return fmt::format("{{{}}}", fmt::join(parts_, ", "));
    }

private:
    std::vector<std::string> parts_;
};

/// An array of values that are JSON already.
[[nodiscard]] inline std::string json_array(const std::vector<std::string>& values) {
    return fmt::format("[{}]", fmt::join(values, ", "));
}

}  // namespace holdfast::detail
