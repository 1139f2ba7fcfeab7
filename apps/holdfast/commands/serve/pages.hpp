// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/http_message.hpp"

#include <string_view>

/// The files of web/, which are inside of the program.
namespace holdfast::app {

struct page {
    std::string_view path;
    std::string_view type;
    std::string_view text;
};

/// Null if there is none.
[[nodiscard]] const page* page_at(std::string_view path) noexcept;

/// With headers that keep a browser from everything that a page of ours does not need.
[[nodiscard]] net::http_response response_of(const page& found, const net::http_request& asked);

}  // namespace holdfast::app
