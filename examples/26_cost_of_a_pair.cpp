// SPDX-License-Identifier: Apache-2.0
//
// What one acquire and release of a name costs that nobody else wants: a hundred pairs, then ten
// thousand. tools/engine_table runs this on every engine and makes a table of it.
#include <holdfast/holdfast.hpp>

#include <chrono>
#include <cstdio>
#include <initializer_list>

namespace {

using namespace std::chrono_literals;

/// Milliseconds for one pair; less than 0 if one failed.
double cost_of_a_pair(holdfast::client& hf, int pairs) {
    auto job = hf.mutex("cost of a pair");
    const auto begun = holdfast::system_clock().now();
    for (int i = 0; i < pairs; ++i) {
        auto held = job.acquire({.ttl = 30s, .wait = 10s});
        if (!held || !std::move(*held).release()) return -1;
    }
    const std::chrono::duration<double, std::milli> took = holdfast::system_clock().now() - begun;
    return took.count() / pairs;
}

}  // namespace

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:");
    if (!hf) return 1;
    if (cost_of_a_pair(*hf, 1) < 0) return 1;  // connects
    for (const int pairs : {100, 10'000}) {
        const double cost = cost_of_a_pair(*hf, pairs);
        if (cost < 0) return 1;
        std::printf("%6d pairs: %.4f ms each\n", pairs, cost);
    }
}
