// SPDX-License-Identifier: Apache-2.0
//
// What a program outside this repository sees: installed headers, installed libraries, no flag of
// ours. It calls into each library, so that a symbol that was not installed fails the link.
#include <holdfast/clock.hpp>
#include <holdfast/entropy.hpp>
#include <holdfast/names.hpp>
#include <holdfast/version.hpp>

#include <iostream>

int main() {
    const auto good = holdfast::lock_name::make("orders/42");
    const auto bad = holdfast::lock_name::make("");
    if (!good || bad || bad.error() != holdfast::errc::invalid_argument) return 1;

    const auto owner = holdfast::owner_token::draw(holdfast::system_entropy());
    if (owner.value().size() != 32) return 2;
    if (holdfast::system_clock().now() == holdfast::time_point{}) return 3;

    std::cout << "consumer: holdfast " << holdfast::version << " names " << good->value() << '\n';
    return 0;
}
