// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/http_message.hpp"
#include "net/websocket_frames.hpp"

/// The request that turns an HTTP connection into a WebSocket, and its answer.
namespace holdfast::net {

/// Does it ask for a WebSocket at all?
[[nodiscard]] bool asks_for_websocket(const http_request& request) noexcept;

/// The headers of the one that answers to a client's random `key`.
[[nodiscard]] std::string websocket_accept(std::string_view key);

struct websocket_answer {
    /// 101, or why not.
    http_response response;
    compression how = compression::none;

    [[nodiscard]] bool accepted() const noexcept { return response.status == 101; }
};

/// `offered` is whether we compress if the client can; each message then by itself.
[[nodiscard]] websocket_answer answer_websocket(const http_request& request, compression offered);

}  // namespace holdfast::net
