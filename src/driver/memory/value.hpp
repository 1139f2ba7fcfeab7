// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/dict.hpp"
#include "driver/memory/sorted_set.hpp"
#include "driver/memory/stream.hpp"

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

/// What a key can hold. One alternative per Redis type; a new type is one more alternative.
///
/// A string lies in the key's own node; the others are behind a pointer, so that a node stays
/// small. No container is ever empty, except a stream: the command that takes the last element also
/// removes the key.
namespace holdfast::memory {

struct no_value {};

using hash_value = dict<std::string>;
using list_value = std::deque<std::string>;
using set_value = dict<no_value>;

using value =
    std::variant<std::string, std::unique_ptr<hash_value>, std::unique_ptr<list_value>,
                 std::unique_ptr<set_value>, std::unique_ptr<sorted_set>, std::unique_ptr<stream>>;

/// As TYPE names it.
[[nodiscard]] inline std::string_view type_name(const value& v) noexcept {
    constexpr std::string_view names[] = {"string", "hash", "list", "set", "zset", "stream"};
    return names[v.index()];
}

/// The T in a value, or null if it holds another type.
template <class T>
[[nodiscard]] T* get_if(value& v) noexcept {
    if constexpr (std::is_same_v<T, std::string>) {
        return std::get_if<std::string>(&v);
    } else {
        auto* held = std::get_if<std::unique_ptr<T>>(&v);
        return held == nullptr ? nullptr : held->get();
    }
}

}  // namespace holdfast::memory
