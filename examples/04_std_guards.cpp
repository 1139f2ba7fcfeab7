// SPDX-License-Identifier: Apache-2.0
//
// The standard's own guards on locks that work across machines.
//
//     04_std_guards [engine URL]
#include <holdfast/holdfast.hpp>

#include <iostream>
#include <mutex>
#include <system_error>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:").value();
    holdfast::mutex from(hf, "account/1");
    holdfast::mutex to(hf, "account/2");

    {  // Two names at once, without deadlock, in any order.
        const std::scoped_lock both(from, to);
        std::cout << "both held, fences " << to_string(from.current().fence()) << " and "
                  << to_string(to.current().fence()) << '\n';
    }

    std::unique_lock one(from);
    std::cout << "one held: " << one.owns_lock() << '\n';

    // As another program sees it: another object of the same name.
    holdfast::mutex same(hf, "account/1");
    const bool at_once = same.try_lock();
    const bool in_time = same.try_lock_for(20ms);
    std::cout << "someone else: try_lock " << at_once << ", try_lock_for " << in_time << '\n';
    if (at_once || in_time) return 1;

    one.unlock();
    if (!same.try_lock_for(2s)) return 1;
    same.unlock();

    // Locking twice in one thread, undefined for std::mutex, is an error here.
    const std::scoped_lock again(from);
    try {
        from.lock();
    } catch (const std::system_error& e) {
        std::cout << "twice: " << e.code().message() << '\n';
        return e.code() == std::errc::resource_deadlock_would_occur ? 0 : 1;
    }
    return 1;
}
