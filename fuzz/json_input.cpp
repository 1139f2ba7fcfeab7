// SPDX-License-Identifier: Apache-2.0
//
// JSON from senders and viewers: read, or refused with a reason.
#include "commands/serve/json_input.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace holdfast;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto post = app::parse_post(text);
    if (!post && (post.error().reason.empty() || post.error().detail.empty())) std::abort();
    if (post) static_cast<void>(push::find_fault(*post, {}));
    const auto said = app::parse_viewer_message(text);
    if (!said && said.error().reason.empty()) std::abort();
    static_cast<void>(app::parse_token_request(text));
    const auto done = app::parse_intervention(text, "lock");
    if (done && (done->reason.empty() || done->reason.size() > 200)) std::abort();
    return 0;
}
