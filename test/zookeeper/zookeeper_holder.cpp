// SPDX-License-Identifier: Apache-2.0
//
// zookeeper_holder URL NAME TTL-MS: takes the name, says so, and keeps it until it is killed.
#include <holdfast/holdfast.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    auto hf = holdfast::open(argv[1]);
    if (!hf) return 3;
    const auto ttl = std::chrono::milliseconds(std::atoi(argv[3]));
    const auto held = hf->mutex(argv[2]).acquire({.ttl = ttl});
    if (!held) return 4;
    std::puts("held");
    std::fflush(stdout);
    for (;;) ::pause();
}
