// SPDX-License-Identifier: Apache-2.0
//
// A Bloom filter in front of a database: ids that never existed are answered without asking it.
#include <holdfast/holdfast.hpp>

#include <iostream>

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:");
    if (!hf) return 1;
    holdfast::bloom_filter known(*hf, "example", {.capacity = 1000, .error_rate = 0.01});
    // All at once, and again whenever the database has lost many: readers see no gap.
    auto built = known.rebuild([](const holdfast::bloom_filter::adder& add) {
        std::vector<std::string> ids;
        for (int i = 0; i < 1000; ++i) ids.push_back("article " + std::to_string(i));
        const std::vector<std::string_view> views(ids.begin(), ids.end());
        return add(views);
    });
    if (!built) return 1;

    int asked = 0;
    for (int i = 0; i < 1000; ++i) {
        auto may = known.contains("no such article " + std::to_string(i));
        if (!may) return 1;
        if (*may) ++asked;
    }
    std::cout << asked << " of 1000 false requests reached the database\n";
    auto there = known.contains("article 7");
    return there && *there && asked < 50 ? 0 : 1;
}
