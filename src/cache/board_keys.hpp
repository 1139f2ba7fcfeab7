// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command/key_text.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// The keys of a segmented board: the only place that puts them together. What is under them is in
/// docs/internals/board_format.md.
namespace holdfast::detail {

struct board_keys {
    std::string prefix;
    std::string name;  ///< With its season.

    [[nodiscard]] std::string map() const {
        return std::string(kept_key(prefix, name, kept::board_map).view());
    }
    [[nodiscard]] std::string segment(std::string_view id, std::uint64_t version,
                                      std::string_view kind) const {
        const std::string tag = fmt::format("{}#{}", name, id);
        return std::string(kept_key(prefix, tag, kind, std::to_string(version)).view());
    }
    [[nodiscard]] std::string partition(std::size_t number, std::string_view kind) const {
        const std::string tag = fmt::format("{}#p{}", name, number);
        return std::string(kept_key(prefix, tag, kind).view());
    }
};

/// Which of a board's partitions has a member's record.
[[nodiscard]] constexpr std::size_t board_partition(std::string_view member,
                                                    std::size_t partitions) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const char c : member) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 1099511628211ULL;
    }
    return (hash ^ (hash >> 32U)) % partitions;
}

}  // namespace holdfast::detail
