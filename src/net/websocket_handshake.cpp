// SPDX-License-Identifier: Apache-2.0
#include "net/websocket_handshake.hpp"

#include "net/base64.hpp"
#include "net/handshake_token.hpp"

#include <algorithm>

namespace holdfast::net {
namespace {

std::string_view without_blanks(std::string_view text) {
    while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
    while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
    return text;
}

// Is the word one of a list with commas?
bool lists(std::string_view list, std::string_view word) {
    while (!list.empty()) {
        const std::string_view one = list.substr(0, list.find(','));
        if (same_word(without_blanks(one), word)) return true;
        list.remove_prefix(std::min(list.size(), one.size() + 1));
    }
    return false;
}

// Does the client offer a permessage-deflate that we can do: any, whose windows we may choose?
bool offers_deflate(const http_request& request) {
    for (const auto& [name, value] : request.headers) {
        if (!same_word(name, "Sec-WebSocket-Extensions")) continue;
        std::string_view rest = value;
        while (!rest.empty()) {
            const std::string_view one = rest.substr(0, rest.find(','));
            rest.remove_prefix(std::min(rest.size(), one.size() + 1));
            const std::string_view called = without_blanks(one.substr(0, one.find(';')));
            // Our windows are the largest; who asks for a smaller one gets no compression.
            if (same_word(called, "permessage-deflate") &&
                one.find("server_max_window_bits") == std::string_view::npos) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace

bool asks_for_websocket(const http_request& request) noexcept {
    return lists(request.header_value("Upgrade"), "websocket");
}

std::string websocket_accept(std::string_view key) {
    return to_base64(sha1_bytes(std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"),
                     base64_alphabet::plain);
}

websocket_answer answer_websocket(const http_request& request, compression offered) {
    const auto refuse = [](std::string_view detail) {
        return websocket_answer{problem(400, "bad_handshake", detail), compression::none};
    };
    if (request.method != "GET") return refuse("a WebSocket is asked for with GET");
    if (!lists(request.header_value("Connection"), "upgrade")) {
        return refuse("the Connection header does not say upgrade");
    }
    if (request.header_value("Sec-WebSocket-Version") != "13") {
        auto wrong = problem(426, "bad_version", "only version 13 is spoken here");
        wrong.headers.emplace_back("Sec-WebSocket-Version", "13");
        return {std::move(wrong), compression::none};
    }
    const std::string_view key = request.header_value("Sec-WebSocket-Key");
    const auto random = from_base64(key, base64_alphabet::plain);
    if (!random || random->size() != 16) return refuse("Sec-WebSocket-Key is not 16 bytes");
    websocket_answer out;
    out.response.status = 101;
    out.response.headers = {{"Upgrade", "websocket"},
                            {"Connection", "Upgrade"},
                            {"Sec-WebSocket-Accept", websocket_accept(key)}};
    if (offered == compression::deflated && offers_deflate(request)) {
        out.how = compression::deflated;
        out.response.headers.emplace_back(
            "Sec-WebSocket-Extensions",
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover");
    }
    return out;
}

}  // namespace holdfast::net
