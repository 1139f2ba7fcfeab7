// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/numbers.hpp"

#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace holdfast::memory {

std::optional<std::int64_t> parse_integer(std::string_view text) noexcept {
    if (text.empty() || text.size() > 20) return {};
    const std::string_view digits = text.front() == '-' ? text.substr(1) : text;
    if (digits.empty()) return {};
    if (digits.front() == '0' && text.size() > 1) return {};  // "-0", "007"
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || end != text.data() + text.size()) return {};
    return value;
}

namespace {

// The largest has 4933 digits; Redis's own buffer.
constexpr std::size_t longest_long_double = 5UL * 1024;

template <class Float, class Convert>
std::optional<Float> parse_float(std::string_view text, Convert convert) {
    if (text.empty()) return {};
    if (std::isspace(static_cast<unsigned char>(text.front())) != 0) return {};
    const std::string copy(text);
    char* end = nullptr;
    errno = 0;
    const Float value = convert(copy.c_str(), &end);
    if (end != copy.data() + copy.size() || std::isnan(value)) return {};
    if (errno == ERANGE && (std::isinf(value) || value == 0)) return {};
    return value;
}

}  // namespace

std::optional<double> parse_double(std::string_view text) {
    return parse_float<double>(text, std::strtod);
}

std::optional<long double> parse_long_double(std::string_view text) {
    if (text.size() >= longest_long_double) return {};
    return parse_float<long double>(text, std::strtold);
}

std::string_view format_integer(std::int64_t value, number_text& room) noexcept {
    const auto end = std::to_chars(room.data(), room.data() + room.size(), value).ptr;
    return {room.data(), static_cast<std::size_t>(end - room.data())};
}

std::string_view format_double(double value, number_text& room) noexcept {
    // Whole numbers of up to 17 digits need no printf, and are most of them.
    constexpr double exact = 9e15;
    if (value > -exact && value < exact && value == std::trunc(value) &&
        !(value == 0 && std::signbit(value))) {
        return format_integer(static_cast<std::int64_t>(value), room);
    }
    const int length = std::snprintf(room.data(), room.size(), "%.17g", value);
    return {room.data(), static_cast<std::size_t>(length)};
}

std::string format_long_double(long double value) {
    std::array<char, longest_long_double> room;
    const int length = std::snprintf(room.data(), room.size(), "%.17Lf", value);
    std::string text(room.data(), static_cast<std::size_t>(length));
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return text == "-0" ? "0" : text;
}

bool is_word(std::string_view text, std::string_view lower) noexcept {
    if (text.size() != lower.size()) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c) != lower[i]) return false;
    }
    return true;
}

}  // namespace holdfast::memory
