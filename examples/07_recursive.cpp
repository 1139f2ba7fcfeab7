// SPDX-License-Identifier: Apache-2.0
//
// A lock that its holder may acquire again: a function that needs it, called by one that has it.
//
//     07_recursive [engine URL]
#include <holdfast/holdfast.hpp>

#include <iostream>
#include <mutex>

namespace {

using handle = holdfast::recursive_lease;

// Ownership by handle: anyone who has one may acquire another level, on any thread.
bool pay(const handle& held) {
    auto mine = held.acquire_again();  // no trip, the same fence
    if (!mine) return false;           // lease_lost: write nothing more
    std::cout << "pay, with fence " << mine->fence().value << '\n';
    return std::move(*mine).release().has_value();  // no trip either
}

// Ownership by thread, as std::recursive_mutex has it.
int depth(holdfast::recursive_mutex& m, int levels) {
    const std::scoped_lock guard(m);
    return levels == 1 ? 1 : 1 + depth(m, levels - 1);
}

}  // namespace

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:").value();

    auto order = hf.recursive_mutex("orders/42").acquire();
    if (!order) return 1;
    const bool paid = pay(*order);
    const bool still_ours = order->held();
    if (!std::move(*order).release()) return 1;  // the last level: releases the lease

    holdfast::recursive_mutex tree(hf, "tree");
    const int levels = depth(tree, 5);
    std::cout << levels << " levels, " << hf.statistics().acquired << " leases in all\n";
    return paid && still_ours && levels == 5 && hf.statistics().acquired == 2 ? 0 : 1;
}
