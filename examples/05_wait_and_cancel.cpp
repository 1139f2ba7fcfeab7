// SPDX-License-Identifier: Apache-2.0
//
// Waiting: for a time, until cancelled, and until the lock is granted.
//
//     05_wait_and_cancel [engine URL]
#include <holdfast/holdfast.hpp>

#include <future>
#include <iostream>
#include <stop_token>
#include <thread>

using namespace std::chrono_literals;

namespace {

std::string_view outcome(const holdfast::result<holdfast::lease>& got) {
    return got ? "held" : to_string(got.error().code);
}

}  // namespace

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:").value();
    auto printer = hf.mutex("printer").acquire().value();

    // For a time. Nothing is left behind: we are not in the queue, and no grant comes later.
    const auto timed = hf.mutex("printer").acquire({.wait = 100ms});
    std::cout << "after 100 ms: " << outcome(timed) << '\n';

    // Until cancelled. A std::jthread has its own token.
    std::promise<std::string_view> said;
    std::jthread waiter([&](const std::stop_token& stop) {
        said.set_value(outcome(hf.mutex("printer").acquire({.stop = stop})));
    });
    waiter.request_stop();
    const auto cancelled = said.get_future().get();
    std::cout << "after the stop: " << cancelled << '\n';

    // Until granted: the release hands the lock to the first waiter, and wakes only that one.
    auto next = std::async(std::launch::async, [&] { return hf.mutex("printer").acquire(); });
    const auto first_fence = printer.fence();
    if (!std::move(printer).release()) return 1;
    const auto mine = next.get();
    std::cout << "after the release: " << outcome(mine) << '\n';

    const bool right = outcome(timed) == "timed_out" && cancelled == "cancelled" && mine &&
                       mine->fence() > first_fence;
    return right ? 0 : 1;
}
