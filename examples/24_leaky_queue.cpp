// SPDX-License-Identifier: Apache-2.0
//
// Requests that come at once leave one by one, at a fixed rate; what does not fit is refused.
#include <holdfast/holdfast.hpp>

#include <iostream>
#include <thread>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:");
    if (!hf) return 1;
    holdfast::leaky_queue mails(*hf, "mails",
                                {.capacity = 3, .every = 50ms, .prefix = "example:leaky:"});
    int refused = 0;
    for (const char* to : {"ana", "bob", "cid", "dan"}) {
        auto put = mails.put(to);
        if (!put) return 1;
        if (!put->accepted) ++refused;
    }
    std::cout << refused << " refused\n";

    int sent = 0;
    std::stop_source enough;
    auto done = mails.drain(
        [&](std::string_view to) -> holdfast::result<void> {
            std::cout << "mail to " << to << '\n';
            if (++sent == 3) enough.request_stop();
            return {};
        },
        enough.get_token());
    return done && done->handled == 3 && refused == 1 ? 0 : 1;
}
