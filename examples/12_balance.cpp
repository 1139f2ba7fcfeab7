// SPDX-License-Identifier: Apache-2.0
//
// Take 100 from a balance only if it is enough, although others write to it at the same time.
#include <holdfast/holdfast.hpp>

#include <atomic>
#include <charconv>
#include <iostream>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

static long number_in(const holdfast::reply& r) {
    long value = 0;
    std::from_chars(r.text().data(), r.text().data() + r.text().size(), value);
    return value;
}

static holdfast::result<long> withdraw(holdfast::client& hf, const std::string& key, long amount) {
    auto done = holdfast::optimistic(hf, {key},
                                     [&](holdfast::attempt& now) -> holdfast::result<void> {
                                         auto balance = now.read({"GET", key});
                                         if (!balance) return std::unexpected(balance.error());
                                         if (number_in(*balance) < amount) {
                                             return holdfast::fail(holdfast::errc::denied,
                                                                   "the balance is not enough");
                                         }
                                         now.write({"DECRBY", key, std::to_string(amount)});
                                         return {};
                                     },
                                     {.attempts = 100});
    if (!done) return std::unexpected(done.error());
    return done->at(0).number();  // DECRBY's reply: what is left
}

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:");
    if (!hf || hf->commands() == nullptr) return 1;
    const std::string key = "example:balance";
    const auto set = holdfast::words("SET", key, 1000, "EX", 60);
    if (!hf->commands()->execute(set, holdfast::system_clock().now() + 2s)) return 1;

    std::atomic<int> paid = 0;
    {
        std::vector<std::jthread> buyers;
        for (int i = 0; i < 16; ++i) {
            buyers.emplace_back([&] {
                if (withdraw(*hf, key, 100)) ++paid;
            });
        }
    }
    std::cout << paid << " of 16 were paid, ten could be\n";
    return paid == 10 ? 0 : 1;
}
