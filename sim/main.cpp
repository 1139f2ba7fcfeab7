// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"
#include <fmt/format.h>
#include <cstdlib>
#include <cstring>
int main(int argc, char** argv) {
    using namespace holdfast::sim;
    std::uint64_t from = 1, count = 100;
    bool all = false;
    limits bounds;
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "--seed")) { from = std::strtoull(argv[++i], nullptr, 10); count = 1; }
        if (!std::strcmp(argv[i], "--seeds")) count = std::strtoull(argv[++i], nullptr, 10);
        if (!std::strcmp(argv[i], "--all")) all = true;
    }
    std::uint64_t events = 0, bad = 0;
    for (std::uint64_t s = from; s < from + count; ++s) {
        auto v = run_seed(s, bounds);
        events += v.events;
        if (v.good()) { if (count == 1) fmt::print("good {} events {:x}\n", v.events, v.hash); continue; }
        ++bad;
        fmt::print("seed {} faults: {} shape {}\n", s, describe(v.how.faults), int(v.how.servers));
        for (auto& f : v.found) fmt::print("   {} us {}: {}\n", f.at.count() / 1000, f.checker, f.text);
        if (!all) {
            auto sh = shrink(s, bounds, v);
            fmt::print(" shrunk after {} tries: {} processes {} safety {} ms\n", sh.tries, describe(sh.last.how.faults), sh.last.how.processes, sh.last.how.safety.count() / 1000000);
            for (auto& f : sh.last.found) fmt::print("   {} us {}: {}\n", f.at.count() / 1000, f.checker, f.text);
            return 1;
        }
    }
    fmt::print("{} seeds, {} bad, {} events\n", count, bad, events);
}
