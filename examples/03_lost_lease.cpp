// SPDX-License-Identifier: Apache-2.0
//
// A work loop that stops when its lease is lost.
//
// A lease can end without you: the engine forgot it, the network was cut, the machine was paused.
// Here it ends because it may be held for 50 ms only (`max_hold`), which is the same to the loop,
// and the same on every engine.
//
//     03_lost_lease [engine URL]
#include <holdfast/holdfast.hpp>

#include <condition_variable>
#include <iostream>
#include <mutex>
#include <stop_token>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:").value();
    const auto lease = hf.mutex("cleaner").acquire({.ttl = 2s, .max_hold = 50ms}).value();

    // A callback runs on a thread of the client; it may use Holdfast.
    const std::stop_callback tell(lease.lost(), [] { std::cout << "the lease is lost\n"; });

    // The standard's waits accept the token: a wait for more work ends when the lease does.
    std::mutex guard;
    std::condition_variable_any more_work;
    int steps = 0;
    std::unique_lock lock(guard);
    while (!lease.lost().stop_requested()) {
        ++steps;  // one step of work, short enough that stopping between two steps is soon enough
        more_work.wait_for(lock, lease.lost(), 10ms, [] { return false; });
    }

    // Do nothing more that the lease protects. Do not write, not even to clean up.
    std::cout << "stopped after " << steps << " steps, because of " << to_string(lease.reason())
              << '\n';
    const bool right = !lease.held() && lease.status() == holdfast::lease_status::lost &&
                       lease.reason() == holdfast::loss_reason::max_hold;
    return right ? 0 : 1;
}
