// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/call.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::memory {

void refuse_syntax() {
    refuse("ERR syntax error");
}

void refuse_type() {
    refuse("WRONGTYPE Operation against a key holding the wrong kind of value");
}

void refuse_arity(std::string_view command) {
    refuse(fmt::format("ERR wrong number of arguments for '{}' command", command));
}

std::string_view printed(std::string_view text, std::size_t most) noexcept {
    return text.substr(0, std::min(most, text.find('\0')));
}

std::int64_t call::integer(std::size_t i) const {
    return integer(i, "ERR value is not an integer or out of range");
}

std::int64_t call::integer(std::size_t i, std::string_view otherwise) const {
    const auto parsed = parse_integer(args[i]);
    if (!parsed) refuse(std::string(otherwise));
    return *parsed;
}

std::int64_t call::positive(std::size_t i) const {
    const auto parsed = parse_integer(args[i]);
    if (!parsed || *parsed < 0) refuse("ERR value is out of range, must be positive");
    return *parsed;
}

double call::number(std::size_t i) const {
    const auto parsed = parse_double(args[i]);
    if (!parsed) refuse("ERR value is not a valid float");
    return *parsed;
}

index_range resolve_range(std::int64_t start, std::int64_t stop, std::size_t size) noexcept {
    const auto length = static_cast<std::int64_t>(size);
    if (start < 0) start = std::max<std::int64_t>(start + length, 0);
    if (stop < 0) stop += length;
    stop = std::min(stop, length - 1);
    if (start > stop || start >= length) return {};
    return {static_cast<std::size_t>(start), static_cast<std::size_t>(stop - start + 1)};
}

}  // namespace holdfast::memory
