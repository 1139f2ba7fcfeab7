// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/server_keys.hpp"

#include <holdfast/holdfast.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <thread>

namespace holdfast::app {

using namespace std::chrono_literals;

// It looks again until nothing is there.
void remove_keys(const std::string& url, const std::vector<std::string>& keys) {
    constexpr std::size_t at_once = 1000;
    constexpr int looks = 50;
    auto on = open(url);
    if (!on) return;
    std::int64_t gone = 1;
    for (int look = 0; look < looks && gone > 0; ++look) {
        if (look > 0) std::this_thread::sleep_for(20ms);
        gone = 0;
        for (std::size_t first = 0; first < keys.size(); first += at_once) {
            const std::size_t last = std::min(first + at_once, keys.size());
            std::vector<std::string_view> unlink{"UNLINK"};
            for (std::size_t i = first; i < last; ++i) unlink.push_back(keys[i]);
            const auto answer =
                on->commands()->execute({unlink, repeat::idempotent}, system_clock().now() + 5s);
            if (!answer) return;
            gone += answer->number();
        }
    }
}

}  // namespace holdfast::app
