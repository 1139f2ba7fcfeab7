// SPDX-License-Identifier: Apache-2.0
//
// Whatever commands the embedded engine is given, in whatever order, it answers each of them, the
// same ones always the same, and what a key holds can be taken out and put back.
//
// A line is a command, its words divided by blanks; a line of digits lets so many milliseconds
// pass.
#include "driver/memory/memory_engine.hpp"

#include <holdfast/virtual_clock.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace std::chrono_literals;

std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(at), text.size());
        if (end > 0) parts.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

struct world {
    holdfast::virtual_clock time;
    holdfast::seeded_entropy chance{1};
    std::shared_ptr<holdfast::memory_engine> engine =
        holdfast::make_memory_engine({.time = &time,
                                      .chance = &chance,
                                      .script_steps = 10'000,
                                      .script_memory = std::size_t{4} * 1024 * 1024});

    holdfast::reply run(std::string_view line) {
        std::uint32_t ms = 0;
        const auto read = std::from_chars(line.data(), line.data() + line.size(), ms);
        if (read.ec == std::errc() && read.ptr == line.data() + line.size()) {
            time.advance(std::chrono::milliseconds(ms));
            return {};
        }
        const auto words = split(line, ' ');
        if (words.empty()) return {};
        holdfast::result<holdfast::reply> answer;
        const holdfast::command one{.args = words};
        engine->exchange({&one, 1}, {&answer, 1}, time.now() + 1h);
        if (!answer) std::abort();
        return std::move(*answer);
    }
};

// INFO has a number that no other server has.
bool tells_of_itself(const holdfast::reply& said) {
    return said.text().find("run_id:") != std::string::npos;
}

std::vector<std::string> names_in(world& one) {
    auto names = one.engine->key_names();
    std::ranges::sort(names);
    return names;
}

void take_out_and_put_back(world& one, world& other) {
    const auto names = names_in(one);
    if (names != names_in(other)) std::abort();
    other.engine->clear();
    for (const std::string& name : names) {
        const auto image = one.engine->image(name);
        if (!image) continue;  // its time has passed
        if (!other.engine->place(name, *image) || other.engine->image(name) != image) std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t most = 2000;
    const std::string_view text(reinterpret_cast<const char*>(data), std::min(size, most));
    world one;
    world other;
    for (const std::string_view line : split(text, '\n')) {
        const holdfast::reply said = one.run(line);
        if (said != other.run(line) && !tells_of_itself(said)) std::abort();
    }
    take_out_and_put_back(one, other);
    return 0;
}
