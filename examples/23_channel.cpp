// SPDX-License-Identifier: Apache-2.0
//
// News to all who listen; and a subscriber that was away, and goes on where it was.
#include <holdfast/holdfast.hpp>

#include <iostream>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:");
    if (!hf) return 1;

    holdfast::channel<std::string> live(*hf, "news_channel", {.prefix = "example:"});
    auto listener = live.subscribe();
    if (!listener || !live.publish("rain tomorrow")) return 1;
    auto heard = listener->next(5s);
    if (!heard || !*heard) return 1;
    std::cout << (*heard)->value << '\n';

    holdfast::channel<std::string> orders(*hf, "orders", {.prefix = "example:", .reliable = true});
    std::string offset;
    {
        auto reader = orders.subscribe();
        if (!reader || !orders.publish("one")) return 1;
        auto first = reader->next(5s);
        if (!first || !*first) return 1;
        offset = (*first)->offset;  // store it with what the message did
    }
    if (!orders.publish("two") || !orders.publish("three")) return 1;

    auto again = orders.subscribe({.after = offset});
    if (!again) return 1;
    for (const std::string wanted : {"two", "three"}) {
        auto next = again->next(5s);
        if (!next || !*next || (*next)->value != wanted || (*next)->lost != 0) return 1;
        std::cout << (*next)->value << '\n';
    }
}
