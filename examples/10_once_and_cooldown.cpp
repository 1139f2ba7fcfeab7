// SPDX-License-Identifier: Apache-2.0
//
// Messages that arrive twice are handled once, and a retry gets the result of the first. A cooldown
// returns how long to wait.
#include <holdfast/holdfast.hpp>

#include <iostream>

using namespace std::chrono_literals;

// Delivers a message, or returns what its first delivery returned. Empty: it is in progress.
static std::string deliver(holdfast::once& processed, std::string_view id) {
    auto mine = processed.claim(id);
    if (!mine) return to_string(mine.error());
    if (!mine->first) return mine->recorded.value_or("");
    const std::string offset = "offset 7";  // … append it to the room's stream …
    if (auto kept = processed.record(*mine, offset); !kept) return to_string(kept.error());
    return offset;
}

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:");
    if (!hf) {
        std::cerr << to_string(hf.error()) << '\n';
        return 1;
    }
    // The keys are msg:processed:room:id and room:cooldown:room.
    holdfast::once processed(*hf, {.window = 2s, .prefix = "msg:processed:"});
    holdfast::cooldown rooms(*hf, {.window = 500ms, .prefix = "room:cooldown:"});

    const std::string first = deliver(processed, "video_123:42");
    const std::string again = deliver(processed, "video_123:42");
    std::cout << "first: " << first << ", again: " << again << '\n';

    const auto now = rooms.take("video_123");
    const auto early = rooms.take("video_123");
    if (!now || !early) return 1;
    std::cout << "the room may speak again in "
              << std::chrono::ceil<std::chrono::milliseconds>(early->retry_after).count()
              << " ms\n";
    return first == again && now->allowed && !early->allowed ? 0 : 1;
}
