// SPDX-License-Identifier: Apache-2.0
//
// Whatever bytes clients send to the server of the embedded engine, in whatever pieces, it goes on,
// and what comes in pieces is answered as what comes whole.
//
// The first byte says how long the pieces are for the second server; the rest is what is sent.
#include "driver/memory/memory_engine.hpp"
#include "resp/service.hpp"

#include <holdfast/virtual_clock.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

struct world {
    holdfast::virtual_clock time;
    holdfast::seeded_entropy chance{1};
    std::shared_ptr<holdfast::memory_engine> engine =
        holdfast::make_memory_engine({.time = &time,
                                      .chance = &chance,
                                      .script_steps = 10'000,
                                      .script_memory = std::size_t{4} * 1024 * 1024});
    holdfast::resp::service clients{engine->core(),
                                    {.requests = {.words = 1000, .word_bytes = 10'000},
                                     .output_bytes = std::size_t{1024} * 1024},
                                    [] {}};
    holdfast::resp::peer& one = clients.admit("one", "here", 1);

    // Its output is bounded by the size of the input, as long as it is not blocked.
    void send(std::string_view bytes) {
        while (!bytes.empty() && one.waiting == nullptr && !one.ending && !one.broken) {
            const auto space = one.reader.space();
            const std::size_t part = std::min(space.size(), bytes.size());
            std::memcpy(space.data(), bytes.data(), part);
            one.reader.filled(part);
            bytes.remove_prefix(part);
            clients.work(one);
            clients.tend();
            (void)clients.take_noted();
        }
    }
};

// INFO and HELLO tell of the one server, CLIENT LIST and MONITOR of how it came.
bool tells_of_itself(std::string_view said) {
    return said.find("run_id:") != std::string_view::npos ||
           said.find("qbuf=") != std::string_view::npos ||
           said.find(" [0 one]") != std::string_view::npos ||
           said.find("message") != std::string_view::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t most = 2000;
    if (size < 2) return 0;
    const std::size_t piece = data[0] % 31U + 1;
    std::string_view text(reinterpret_cast<const char*>(data) + 1, std::min(size - 1, most));
    world whole;
    world pieces;
    whole.send(text);
    for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
        pieces.send(text.substr(0, piece));
    }
    if (whole.one.out != pieces.one.out && !tells_of_itself(whole.one.out)) std::abort();
    return 0;
}
