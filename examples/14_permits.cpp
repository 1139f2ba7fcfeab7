// SPDX-License-Identifier: Apache-2.0
//
// A limited number at a time: licences, slots, connections to a fragile neighbour.
//
//     14_permits [engine URL]
#include <holdfast/holdfast.hpp>

#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:").value();
    auto slots = hf.semaphore("example/slots", 3);

    std::atomic<int> inside = 0;
    std::atomic<int> too_many = 0;
    {
        std::vector<std::jthread> workers;
        for (int i = 0; i < 12; ++i) {
            workers.emplace_back([&] {
                auto held = slots.acquire();  // a lease: it expires if we crash
                if (++inside > 3) ++too_many;
                --inside;
                if (!held || !std::move(*held).release()) ++too_many;
            });
        }
    }
    std::cout << "twelve were served, three at a time\n";

    // Several at once, or none. Small requests do not overtake large ones.
    auto two = slots.acquire(2);
    const auto refused = slots.try_acquire(2);
    if (!two || refused) return 1;
    std::cout << "two of three are taken: " << to_string(refused.error()) << '\n';

    // There may be more from now on, for every client.
    if (!slots.resize(5)) return 1;
    const auto more = slots.try_acquire(2);
    if (!slots.resize(3)) return 1;
    return more && too_many == 0 ? 0 : 1;
}
