// SPDX-License-Identifier: Apache-2.0
#include "driver/zookeeper/entry_names.hpp"

#include "core/utf8_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>

namespace holdfast::zookeeper {
namespace {

using kind = lease_mode::kind;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_owner_text(std::string_view text) {
    return text.size() == 32 &&
           std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

/// The characters that a path of ZooKeeper may not have, and two that mean something to us. Java
/// counts what is beyond U+FFFF as two, of a range that it refuses.
bool needs_escape(char32_t c) {
    return c < U' ' || c == U'/' || c == U'%' || (c >= 0x7f && c <= 0x9f) ||
           (c >= 0xd800 && c <= 0xf8ff) || c >= 0xfff0;
}

std::string escaped(std::string_view name) {
    const bool dots = name == "." || name == "..";
    std::string out;
    for (std::string_view rest = name; !rest.empty();) {
        const std::string_view before = rest;
        const char32_t c = detail::take_character(rest);
        const std::string_view bytes = before.substr(0, before.size() - rest.size());
        if (!dots && !needs_escape(c)) {
            out += bytes;
            continue;
        }
        for (const char byte : bytes) {
            fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(byte));
        }
    }
    return out;
}

/// "2of5"
std::optional<lease_mode> read_permits(std::string_view text) {
    lease_mode mode{.type = kind::permit};
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, mode.permits);
    if (first.ec != std::errc{} || end - first.ptr < 3) return std::nullopt;
    if (std::string_view(first.ptr, 2) != "of") return std::nullopt;
    const auto second = std::from_chars(first.ptr + 2, end, mode.limit);
    if (second.ec != std::errc{} || second.ptr != end) return std::nullopt;
    return mode;
}

bool take_end(std::string_view& text, std::string_view end) {
    if (!text.ends_with(end)) return false;
    text.remove_suffix(end.size());
    return true;
}

/// What stands before the number: an entry of ours, or else another program's.
void read_prefix(std::string_view prefix, ordered::queue_entry& entry) {
    const bool curator = prefix.starts_with("_c_");
    if (prefix.ends_with("__rlock__") || prefix.ends_with("__READ__")) {
        entry.mode.type = kind::shared;
    }
    if (!take_end(prefix, "__rlock__") && !take_end(prefix, "__lock__") &&
        !take_end(prefix, "-lock-")) {
        return;
    }
    if (curator) prefix.remove_prefix(3);
    const std::string_view owner = prefix.substr(0, 32);
    if (!is_owner_text(owner)) return;
    const std::string_view more = prefix.substr(32);
    if (more.empty()) {
        entry.owner = owner;
    } else if (more == "-shared") {
        entry.owner = owner;
        entry.mode.type = kind::shared;
    } else if (const auto permits = read_permits(more.substr(1))) {
        entry.owner = owner;
        entry.mode = *permits;
    }
}

std::optional<std::int32_t> read_number(std::string_view key) {
    const std::string_view text = entry_names::number_text(key);
    std::int32_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || read.ec != std::errc{} || read.ptr != text.data() + text.size()) {
        return std::nullopt;
    }
    return number;
}

}  // namespace

std::string entry_names::directory(std::string_view name) const {
    return fmt::format("{}/{}", root_, escaped(name));
}

std::string entry_names::evictions(std::string_view name) const {
    return fmt::format("{}.evicted/{}", root_, escaped(name));
}

std::optional<std::string> entry_names::name_of(std::string_view node) {
    std::string out;
    for (std::size_t i = 0; i < node.size(); ++i) {
        if (node[i] != '%') {
            out += node[i];
            continue;
        }
        unsigned value = 0;
        const std::string_view digits = node.substr(i + 1, 2);
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        if (digits.size() != 2 || read.ptr != digits.data() + 2) return std::nullopt;
        out += static_cast<char>(value);
        i += 2;
    }
    return out;
}

std::string entry_names::prefix(std::string_view owner, const lease_mode& mode) const {
    const std::string permits =
        mode.type == kind::permit ? fmt::format("-{}of{}", mode.permits, mode.limit) : "";
    const bool shared = mode.type == kind::shared;
    if (recipe_ == recipe::curator) {
        return fmt::format("_c_{}{}{}-lock-", owner, permits, shared ? "-shared" : "");
    }
    return fmt::format("{}{}{}", owner, permits, shared ? "__rlock__" : "__lock__");
}

// Ten places, the sign included, or eleven. A prefix may end in '-', too; a sign comes after it.
std::string_view entry_names::number_text(std::string_view key) {
    std::size_t digits = 0;
    while (digits < key.size() && is_digit(key[key.size() - 1 - digits])) ++digits;
    if (digits < 9) return {};
    digits = std::min<std::size_t>(digits, 10);
    const std::string_view before = key.substr(0, key.size() - digits);
    const bool has_sign = before.ends_with("--") || before.ends_with("_-");
    if (has_sign) return key.substr(before.size() - 1);
    return digits == 10 ? key.substr(before.size()) : std::string_view();
}

// The numbers wrap. Those that are there together are near each other, so the distance to any one
// of them tells the order.
std::vector<ordered::queue_entry> entry_names::read(const std::vector<std::string>& children) {
    std::vector<ordered::queue_entry> all;
    std::optional<std::uint32_t> first;
    for (const std::string& child : children) {
        const auto number = read_number(child);
        if (!number) continue;
        const auto unsigned_number = static_cast<std::uint32_t>(*number);
        if (!first) first = unsigned_number;
        ordered::queue_entry entry{.key = child, .owner = {}};
        const std::size_t length = child.size() - number_text(child).size();
        read_prefix(std::string_view(child).substr(0, length), entry);
        const auto distance = static_cast<std::int32_t>(unsigned_number - *first);
        entry.position = static_cast<std::uint64_t>((std::int64_t{1} << 32) + distance);
        all.push_back(std::move(entry));
    }
    return all;
}

}  // namespace holdfast::zookeeper
