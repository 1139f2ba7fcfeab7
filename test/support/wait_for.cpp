// SPDX-License-Identifier: Apache-2.0
#include "support/wait_for.hpp"

#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

namespace holdfast::test {

void wait_for(std::string_view what, const std::function<bool()>& condition,
              std::chrono::milliseconds at_most) {
    using namespace std::chrono_literals;
    const auto end = std::chrono::steady_clock::now() + at_most;
    auto pause = 1ms;
    std::string last;
    for (;;) {
        // One look after the end as well, so that a starved process does not fail a true condition.
        const bool over = std::chrono::steady_clock::now() >= end;
        try {
            if (condition()) return;
            last.clear();
        } catch (const std::exception& e) {
            last = e.what();
        }
        if (over) break;
        std::this_thread::sleep_for(pause);
        if (pause < 16ms) pause *= 2;
    }
    std::string text = "waited " + std::to_string(at_most.count()) + " ms for ";
    text += what;
    if (!last.empty()) text += "; last seen: " + last;
    throw std::runtime_error(text);
}

}  // namespace holdfast::test
