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

constexpr std::string_view html = "text/html; charset=utf-8";
constexpr std::string_view style = "text/css; charset=utf-8";
constexpr std::string_view script = "text/javascript; charset=utf-8";

constexpr std::array pages{
    page{
        "/",
        html,
#include "web/home.html.inc"
    },
    page{
        "/room/",
        html,
#include "web/room.html.inc"
    },
    page{
        "/ops",
        html,
#include "web/ops.html.inc"
    },
    page{
        "/web/base.css",
        style,
#include "web/base.css.inc"
    },
    page{
        "/web/room.css",
        style,
#include "web/room.css.inc"
    },
    page{
        "/web/ops.css",
        style,
#include "web/ops.css.inc"
    },
    page{
        "/web/api.js",
        script,
#include "web/api.js.inc"
    },
    page{
        "/web/home.js",
        script,
#include "web/home.js.inc"
    },
    page{
        "/web/room.js",
        script,
#include "web/room.js.inc"
    },
    page{
        "/web/stage.js",
        script,
#include "web/stage.js.inc"
    },
    page{
        "/web/ops.js",
        script,
#include "web/ops.js.inc"
    },
    page{
        "/web/charts.js",
        script,
#include "web/charts.js.inc"
    },
    page{
        "/web/icon.svg",
        "image/svg+xml",
#include "web/icon.svg.inc"
    },
    page{
        "/openapi.json",
        "application/json",
#include "web/openapi.json.inc"
    },
};

constexpr std::string_view policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// One page serves every room; its script reads the room's name from the address.
std::string_view file_of(std::string_view path) {
    constexpr std::string_view room = "/room/";
    if (path == room) return {};
    return path.starts_with(room) ? room : path;
}

}  // namespace

const page* page_at(std::string_view path) noexcept {
    const auto* const found = std::ranges::find(pages, file_of(path), &page::path);
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
