// SPDX-License-Identifier: Apache-2.0
//
// Locks by key: options for all and for one, kept and released by the key alone.
#include <holdfast/holdfast.hpp>

#include <iostream>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:");
    if (!hf) {
        std::cerr << to_string(hf.error()) << '\n';
        return 1;
    }
    // Ten seconds at a time, renewed while held; three attempts, 50 ms apart.
    holdfast::lock_manager locks(
        *hf, {.lock = {.ttl = 10s, .wait = 0s}, .retries = 2, .retry_pause = 50ms});
    // The report may take long, but not for ever.
    if (!locks.configure("report", {.lock = {.ttl = 1min, .max_hold = 1h}})) return 1;

    const auto order = locks.acquire("orders/42");
    const auto report = locks.acquire("report");
    if (!order || !report) return 1;
    std::cout << "fence of the order: " << to_string(order->fence) << '\n';
    for (const auto& key : locks.keys()) std::cout << "held: " << key << '\n';

    // Another caller gets busy, after three attempts.
    holdfast::lock_manager others(*hf, {.lock = {.wait = 0s}, .retries = 2, .retry_pause = 1ms});
    const auto refused = others.acquire("orders/42");
    if (refused) return 1;
    std::cout << to_string(refused.error()) << '\n';

    if (!locks.release("orders/42")) return 1;
    if (!others.acquire("orders/42")) return 1;
    return locks.close() && others.close() && !locks.held("report") ? 0 : 1;
}
