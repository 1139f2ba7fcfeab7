// SPDX-License-Identifier: Apache-2.0
//
// Bytes from a socket as WebSocket frames: however they are cut, the same events come out.
#include "net/websocket_frames.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace holdfast::net;

std::vector<std::string> events_of(std::string_view bytes, std::size_t piece, compression how) {
    constexpr std::size_t most = 1000;
    websocket_reader reader(websocket_role::server, {.message_bytes = most, .fragments = 8}, how);
    std::vector<std::string> out;
    while (!bytes.empty()) {
        std::string_view part = bytes.substr(0, piece);
        bytes.remove_prefix(part.size());
        while (const auto event = reader.next(part)) {
            if (event->payload.size() > most) std::abort();
            out.push_back(std::to_string(static_cast<int>(event->type)) + " " +
                          std::to_string(static_cast<int>(event->code)) + " " +
                          std::string(event->payload));
        }
    }
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2 || size > 8192) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const compression how = (data[0] & 1) != 0 ? compression::deflated : compression::none;
    const std::size_t piece = static_cast<std::size_t>(data[0] >> 1) + 1;
    if (events_of(bytes, piece, how) != events_of(bytes, bytes.size(), how)) std::abort();
    return 0;
}
