// SPDX-License-Identifier: Apache-2.0
//
// Acquire a lock, see that nobody else can, release it.
//
//     01_first_lock [engine URL]      memory: by default; for instance redis://localhost:6379
#include <holdfast/holdfast.hpp>

#include <iostream>

using namespace std::chrono_literals;

namespace {

int trouble(const holdfast::error& why) {
    std::cerr << holdfast::to_string(why) << '\n';
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:");
    if (!hf) return trouble(hf.error());

    // For ten seconds at a time, renewed while we hold it; waits at most two seconds.
    auto held = hf->mutex("orders/42").acquire({.ttl = 10s, .wait = 2s});
    if (!held) return trouble(held.error());
    std::cout << "held: " << held->name().value() << ", fence " << to_string(held->fence()) << '\n';

    // Another caller gets busy. That is an answer, not a failure.
    const auto refused = hf->mutex("orders/42").try_acquire();
    if (refused || refused.error() != holdfast::errc::busy) return 1;
    std::cout << "meanwhile: " << holdfast::to_string(refused.error()) << '\n';

    // The destructor would release it in the background; release() returns the outcome.
    const auto released = std::move(*held).release();
    if (!released) return trouble(released.error());
    std::cout << "released\n";
    return 0;
}
