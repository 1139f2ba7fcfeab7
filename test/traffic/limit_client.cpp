// SPDX-License-Identifier: Apache-2.0
//
// A program that takes from a limit, for tests of several processes.
//
//   limit_client URL PREFIX BLOCK TAKES     takes one by one from the key "shared", by blocks if
//                                           BLOCK is not 0; prints how many were allowed, and
//                                           waits to be ended
#include <holdfast/holdfast.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    using namespace std::chrono_literals;
    if (argc != 5) return 2;
    auto hf = holdfast::open(argv[1]);
    if (!hf) return 1;
    holdfast::rate_limiter limiter(
        *hf, holdfast::fixed_window{.limit = 1000, .window = 20s},
        {.prefix = argv[2], .timeout = 5s, .block = std::strtoull(argv[3], nullptr, 10)});
    const long takes = std::strtol(argv[4], nullptr, 10);
    long allowed = 0;
    for (long i = 0; i < takes; ++i) {
        const auto answer = limiter.take("shared");
        if (!answer) return 1;
        if (answer->allowed) ++allowed;
    }
    std::printf("allowed %ld\n", allowed);
    std::fflush(stdout);
    for (;;) ::pause();
}
