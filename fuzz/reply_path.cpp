// SPDX-License-Identifier: Apache-2.0
//
// Whatever a server sends, in whatever pieces, the reply path neither crashes nor grows without
// bound, and the same bytes give the same replies however they are cut; also if a published message
// that comes alone is read as a subscriber does, without a reader.
#include "driver/redis/published_message.hpp"
#include "driver/redis/reply_reader.hpp"

#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

namespace {

constexpr std::size_t most_bytes = 1 << 16;

struct outcome {
    std::vector<holdfast::reply> replies;
    bool failed = false;
};

enum class way : std::uint8_t { reader, subscriber };

holdfast::reply as_reply(const holdfast::redis::published& message) {
    const bool global = message.scope == holdfast::channel_scope::global;
    return holdfast::reply::array({holdfast::reply::string(global ? "message" : "smessage"),
                                   holdfast::reply::string(message.channel),
                                   holdfast::reply::string(message.text)});
}

outcome read_in_pieces(std::span<const char> bytes, std::size_t piece, way by) {
    holdfast::redis::reply_reader reader(most_bytes);
    outcome out;
    while (!bytes.empty() && reader.problem().empty()) {
        const auto now = bytes.first(piece < bytes.size() ? piece : bytes.size());
        bytes = bytes.subspan(now.size());
        const auto message = by == way::subscriber && reader.idle()
                                 ? holdfast::redis::lone_message({now.data(), now.size()})
                                 : std::nullopt;
        if (message) {
            out.replies.push_back(as_reply(*message));
            continue;
        }
        reader.feed(now);
        while (auto one = reader.next()) out.replies.push_back(std::move(*one));
    }
    out.failed = !reader.problem().empty();
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::size_t piece = std::size_t{data[0]} + 1;
    const std::span<const char> bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const outcome whole = read_in_pieces(bytes, bytes.size(), way::reader);
    for (const std::size_t size : {piece, bytes.size()}) {
        for (const way by : {way::reader, way::subscriber}) {
            const outcome other = read_in_pieces(bytes, size, by);
            if (whole.replies != other.replies || whole.failed != other.failed) std::abort();
        }
    }
    for (const holdfast::reply& r : whole.replies) {
        if (to_string(r).empty() && r.type() != holdfast::reply::kind::status) std::abort();
        if (r.is_error() && to_error(r).detail.empty() && !r.text().empty()) std::abort();
    }
    return 0;
}
