// SPDX-License-Identifier: Apache-2.0
//
// Two limits at once on each user, and what an HTTP server answers with.
#include <holdfast/holdfast.hpp>

#include <iostream>

using namespace std::chrono_literals;

static int answer(holdfast::rate_limiter& api, std::string_view user) {
    const auto decided = api.take(user);
    if (!decided) return 503;  // or let rate_limiter_options::away decide
    for (const auto& [name, value] : holdfast::rate_limit_headers(*decided, api.limits())) {
        std::cout << "    " << name << ": " << value << '\n';
    }
    return decided->allowed ? 200 : 429;
}

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:");
    if (!hf) {
        std::cerr << to_string(hf.error()) << '\n';
        return 1;
    }
    holdfast::rate_limiter api(
        *hf,
        {{"second", holdfast::token_bucket{.capacity = 3, .refill = 1, .period = 1s}},
         {"day", holdfast::sliding_counter{.limit = 10'000, .window = 24h}}},
        {.prefix = "example:" + std::to_string(holdfast::system_entropy().below(1'000'000)) + ":"});
    int refused = 0;
    for (int i = 0; i < 5; ++i) {
        const int status = answer(api, "user/42");
        std::cout << "  status " << status << '\n';
        if (status == 429) ++refused;
    }

    // A leaky bucket returns a delay instead of a refusal, for an even flow.
    holdfast::rate_limiter mail(*hf,
                                holdfast::leaky_bucket{.drain = 100, .period = 1s, .queue = 50},
                                {.prefix = "example:mail:"});
    const auto first = mail.take("outbox");
    const auto second = mail.take("outbox");
    if (!first || !second) return 1;
    std::cout << "the second mail leaves in "
              << std::chrono::duration_cast<std::chrono::microseconds>(second->delay).count()
              << " us\n";
    return refused == 2 && second->allowed ? 0 : 1;
}
