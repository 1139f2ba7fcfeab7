// SPDX-License-Identifier: Apache-2.0
#include "cache/cache_entry.hpp"

#include <algorithm>
#include <span>

namespace holdfast::detail {
namespace {

bool read_digits(std::string_view text, std::int64_t& out) {
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), out);
    return wrong == std::errc{} && end == text.data() + text.size() && out >= 0;
}

void put_hex(std::span<char, 16> out, std::uint64_t number) {
    constexpr std::string_view digits = "0123456789abcdef";
    for (std::size_t i = 16; i-- > 0; number >>= 4U) out[i] = digits[number & 15U];
}

}  // namespace

std::optional<entry_view> read_entry(std::string_view text) {
    if (text.size() < entry_header_bytes || !text.starts_with("hc1")) return std::nullopt;
    entry_view seen;
    seen.kind = static_cast<entry_kind>(text[3]);
    if (seen.kind != entry_kind::value && seen.kind != entry_kind::absent &&
        seen.kind != entry_kind::loading) {
        return std::nullopt;
    }
    if (!read_digits(text.substr(4, 16), seen.soft_us) ||
        !read_digits(text.substr(20, 10), seen.took_us) ||
        !read_digits(text.substr(30, 16), seen.lease_us)) {
        return std::nullopt;
    }
    seen.token = text.substr(46, load_token_bytes);
    seen.value = text.substr(entry_header_bytes);
    return seen;
}

std::array<char, entry_header_bytes> lease_entry(std::string_view token) {
    std::array<char, entry_header_bytes> made;
    made.fill('0');
    std::ranges::copy(std::string_view("hc1-"), made.begin());
    std::ranges::copy(token, made.begin() + (entry_header_bytes - load_token_bytes));
    return made;
}

std::array<char, load_token_bytes> token_source::next() noexcept {
    std::array<char, load_token_bytes> made;
    put_hex(std::span(made).first<16>(), process_);
    put_hex(std::span(made).last<16>(), count_.fetch_add(1, std::memory_order_relaxed) + 1);
    return made;
}

std::string token_source::process_text() const {
    std::array<char, 16> made;
    put_hex(made, process_);
    return {made.data(), made.size()};
}

}  // namespace holdfast::detail
