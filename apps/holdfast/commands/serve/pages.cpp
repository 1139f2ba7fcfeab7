// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/pages.hpp"

#include "net/base64.hpp"
#include "net/handshake_token.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace holdfast::app {
namespace {

constexpr std::string_view room_html =
#include "web/room.html.inc"
    ;
constexpr std::string_view room_css =
#include "web/room.css.inc"
    ;
constexpr std::string_view room_js =
#include "web/room.js.inc"
    ;
constexpr std::string_view openapi_json =
#include "web/openapi.json.inc"
    ;

constexpr std::array pages{
    page{"/", "text/html; charset=utf-8", room_html},
    page{"/room.css", "text/css; charset=utf-8", room_css},
    page{"/room.js", "text/javascript; charset=utf-8", room_js},
    page{"/openapi.json", "application/json", openapi_json},
};

constexpr std::string_view policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

}  // namespace

const page* page_at(std::string_view path) noexcept {
    const auto* const found = std::ranges::find(pages, path, &page::path);
    return found == pages.end() ? nullptr : found;
}

net::http_response response_of(const page& found, const net::http_request& asked) {
    const std::string tag = fmt::format(
        "\"{}\"", net::to_base64(net::sha1_bytes(found.text), net::base64_alphabet::url));
    net::http_response out{.type = std::string(found.type)};
    out.headers = {{"Content-Security-Policy", std::string(policy)},
                   {"X-Content-Type-Options", "nosniff"},
                   {"Referrer-Policy", "no-referrer"},
                   {"Cross-Origin-Resource-Policy", "same-origin"},
                   {"Cache-Control", "no-cache"},
                   {"ETag", tag}};
    if (asked.header_value("If-None-Match") == tag) {
        out.status = 304;
    } else {
        out.body = found.text;
    }
    return out;
}

}  // namespace holdfast::app
