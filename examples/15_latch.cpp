// SPDX-License-Identifier: Apache-2.0
//
// Nobody begins before all are ready. The three workers are threads here; they could as well be
// programs on three machines, which only have to know the latch's name and its count.
#include <holdfast/holdfast.hpp>

#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:");
    if (!hf) {
        std::cerr << to_string(hf.error()) << '\n';
        return 1;
    }
    // Each round has its own name; a second run of this program within a minute would find the
    // latch of the first one open.
    const std::string round = "round-" + std::to_string(hf->chance().below(1'000'000'000));
    holdfast::latch ready(*hf, round, 3, {.life = 1min});

    std::atomic<int> warm = 0;
    std::atomic<int> early = 0;
    {
        std::vector<std::jthread> workers;
        for (int i = 0; i < 3; ++i) {
            workers.emplace_back([&] {
                ++warm;  // … load caches, open connections …
                const auto begun = ready.arrive_and_wait(1, {.wait = 10s});
                if (!begun || warm != 3) ++early;
            });
        }
    }
    std::cout << warm << " were ready before anyone began\n";

    // It stays open, and cannot be counted down further.
    const auto late = ready.try_wait();
    const auto too_many = ready.count_down();
    std::cout << to_string(too_many.error()) << '\n';
    return early == 0 && late && *late && too_many.error() == holdfast::errc::invalid_argument ? 0
                                                                                               : 1;
}
