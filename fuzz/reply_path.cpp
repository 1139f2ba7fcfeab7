// SPDX-License-Identifier: Apache-2.0
//
// Whatever a server sends, in whatever pieces, the reply path neither crashes nor grows without
// bound, and the same bytes give the same replies however they are cut. What is taken for a
// published message without a reader is the message that a reader finds.
#include "redis/published.hpp"
#include "redis/reply_reader.hpp"

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

outcome read_in_pieces(std::span<const char> bytes, std::size_t piece) {
    holdfast::redis::reply_reader reader(most_bytes);
    outcome out;
    while (!bytes.empty() && reader.problem().empty()) {
        const std::size_t now = piece < bytes.size() ? piece : bytes.size();
        reader.feed(bytes.first(now));
        bytes = bytes.subspan(now);
        while (auto one = reader.next()) out.replies.push_back(std::move(*one));
    }
    out.failed = !reader.problem().empty();
    return out;
}

bool tells(const outcome& read, const holdfast::redis::published& message) {
    const bool global = message.scope == holdfast::channel_scope::global;
    return !read.failed &&
           read.replies == std::vector{holdfast::reply::array(
                               {holdfast::reply::string(global ? "message" : "smessage"),
                                holdfast::reply::string(message.channel),
                                holdfast::reply::string(message.text)})};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::size_t piece = std::size_t{data[0]} + 1;
    const std::span<const char> bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const outcome whole = read_in_pieces(bytes, bytes.size());
    const outcome cut = read_in_pieces(bytes, piece);
    if (whole.replies != cut.replies || whole.failed != cut.failed) std::abort();
    const auto message = holdfast::redis::lone_message({bytes.data(), bytes.size()});
    if (message && !tells(whole, *message)) std::abort();
    for (const holdfast::reply& r : whole.replies) {
        if (to_string(r).empty() && r.type() != holdfast::reply::kind::status) std::abort();
        if (r.is_error() && to_error(r).detail.empty() && !r.text().empty()) std::abort();
    }
    return 0;
}
