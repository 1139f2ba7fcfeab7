// SPDX-License-Identifier: Apache-2.0
//
// Observing a client's leases, and its statistics as a page for Prometheus.
//
//     09_observer [engine URL]
#include <holdfast/holdfast.hpp>

#include <array>
#include <atomic>
#include <iostream>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
    std::atomic<int> heard = 0;
    holdfast::client_options options;
    options.observer = {
        .acquired =
            [&](const holdfast::acquired_event& e) {
                std::cout << "acquired " << e.name.value() << ": " << to_string(e.path) << '\n';
                ++heard;
            },
        .jeopardy =
            [](const holdfast::jeopardy_event& e) {
                std::cerr << e.name.value() << " is in danger: " << to_string(e.why) << '\n';
            },
        .lost =
            [&](const holdfast::lost_event& e) {
                std::cout << "lost " << e.name.value() << ": " << to_string(e.reason) << '\n';
                ++heard;
            },
    };
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:", options).value();

    const auto brief = hf.mutex("brief").acquire({.max_hold = 50ms}).value();
    if (!hf.mutex("orders/42").acquire().value().release()) return 1;
    hf.close();  // "brief" is lost now, by max_hold or by this; the observer gets the event

    const std::array labels{holdfast::metric_label{"service", "orders"}};
    const auto page = holdfast::to_prometheus(hf.statistics(), labels);
    if (!page) return 1;
    std::cout << page->substr(0, page->find("# HELP holdfast_leases_waited")) << "…\n";
    const bool counted =
        page->find("holdfast_leases_acquired_total{service=\"orders\"} 2\n") != std::string::npos;
    return counted && heard == 3 ? 0 : 1;
}
