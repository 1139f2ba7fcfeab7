// SPDX-License-Identifier: Apache-2.0
//
// Bytes from a socket as HTTP requests, in pieces: whole or cut, the same requests come out.
#include "net/http_reader.hpp"
#include "net/websocket_handshake.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace holdfast::net;

// What was read, and whether it ended in a refusal.
std::vector<std::string> read_in_pieces(std::string_view bytes, std::size_t piece) {
    http_reader reader({.header_bytes = 512, .headers = 16, .body_bytes = 512});
    std::string waiting;
    std::vector<std::string> out;
    while (!bytes.empty()) {
        waiting += bytes.substr(0, piece);
        bytes.remove_prefix(std::min(piece, bytes.size()));
        while (true) {
            const auto state = reader.feed(waiting);
            if (state == http_reader::state::more) break;
            if (state == http_reader::state::refused) return out;
            const http_request r = reader.take();
            if (r.body.size() > 512 || !r.path.starts_with('/')) std::abort();
            if (asks_for_websocket(r)) {
                static_cast<void>(answer_websocket(r, compression::deflated));
            }
            out.push_back(r.method + " " + r.target + " " + r.body);
        }
        if (waiting.size() > 2048) std::abort();
    }
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 4096) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    // The limits count what has come so far, so only what both read is compared.
    const auto small = read_in_pieces(bytes, 1);
    const auto large = read_in_pieces(bytes, 1000);
    for (std::size_t i = 0; i < std::min(small.size(), large.size()); ++i) {
        if (small[i] != large[i]) std::abort();
    }
    return 0;
}
