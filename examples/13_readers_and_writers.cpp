// SPDX-License-Identifier: Apache-2.0
//
// Many read, one writes; and a writer that becomes a reader without releasing.
//
//     13_readers_and_writers [engine URL]
#include <holdfast/holdfast.hpp>

#include <iostream>
#include <mutex>
#include <shared_mutex>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:").value();
    auto prices = hf.shared_mutex("example/prices");

    // Readers hold it together, each with its own lease and fence.
    auto first = prices.acquire_shared({.wait = 2s});
    auto second = prices.acquire_shared({.wait = 2s});
    if (!first || !second) return 1;
    const auto refused = prices.try_acquire();
    std::cout << "two read; a writer gets: " << to_string(refused.error()) << '\n';
    if (!std::move(*first).release() || !std::move(*second).release()) return 1;

    // A writer is exclusive. It may become a reader: no other writer gets in between.
    auto writer = prices.acquire({.wait = 2s});
    if (!writer) return 1;
    const auto fence = writer->fence();
    if (prices.try_acquire_shared()) return 1;
    if (!writer->downgrade()) return 1;
    auto reader = prices.try_acquire_shared();
    std::cout << "the writer reads on, with its fence " << writer->fence().value << '\n';
    if (!reader || writer->fence() != fence) return 1;
    if (!std::move(*reader).release() || !std::move(*writer).release()) return 1;

    // The standard's guards.
    {
        const std::shared_lock reading(prices);
    }
    const std::unique_lock writing(prices);
    return refused.error() == holdfast::errc::busy ? 0 : 1;
}
