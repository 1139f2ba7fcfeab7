// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/require.hpp"
#include "driver/memory/value.hpp"

#include <utility>

/// The two ends of a list.
namespace holdfast::memory {

enum class list_end : std::uint8_t { left, right };

inline void push_end(list_value& l, list_end end, std::string text) {
    if (end == list_end::left) {
        l.push_front(std::move(text));
    } else {
        l.push_back(std::move(text));
    }
}

/// Requires: not empty.
[[nodiscard]] inline std::string pop_end(list_value& l, list_end end) {
    detail::require(!l.empty(), "the list is not empty");
    std::string text = std::move(end == list_end::left ? l.front() : l.back());
    end == list_end::left ? l.pop_front() : l.pop_back();
    return text;
}

}  // namespace holdfast::memory
