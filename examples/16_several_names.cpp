// SPDX-License-Identifier: Apache-2.0
//
// Two transfers between the same accounts, in opposite directions at the same time: each takes both
// names or none, without a deadlock. Then: inspect a name, and evict its holder.
#include <holdfast/holdfast.hpp>

#include <iostream>
#include <thread>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:");
    if (!hf) {
        std::cerr << to_string(hf.error()) << '\n';
        return 1;
    }
    int balance[2] = {100, 100};
    const auto transfer = [&](int from, int to, int amount) {
        const std::string debit = "account/" + std::to_string(from);
        const std::string credit = "account/" + std::to_string(to);
        auto both = hf->acquire_all({debit, credit}, {.ttl = 10s, .wait = 10s});
        if (!both) return;
        balance[from] -= amount;  // a real write would carry both->fence(debit) …
        balance[to] += amount;    // … and both->fence(credit)
        static_cast<void>(std::move(*both).release());
    };
    {
        std::jthread there([&] {
            for (int i = 0; i < 20; ++i) transfer(0, 1, 2);
        });
        std::jthread back([&] {
            for (int i = 0; i < 20; ++i) transfer(1, 0, 1);
        });
    }
    std::cout << "balances: " << balance[0] << " and " << balance[1] << '\n';

    // A holder hangs. An operator inspects the name, and evicts the holder.
    auto hangs = hf->mutex("account/0").acquire({.ttl = 10s});
    if (!hangs) return 1;
    const auto seen = hf->inspect("account/0");
    if (!seen || !*seen || !(*seen)->mine()) return 1;
    if (hf->evict("account/0", "it hangs") != 1U) return 1;
    const auto next = hf->mutex("account/0").try_acquire();
    const auto said = std::move(*hangs).release();
    if (!next || said) return 1;
    std::cout << "the one that hung: " << to_string(said.error()) << '\n';
    return balance[0] == 80 && balance[1] == 120 ? 0 : 1;
}
