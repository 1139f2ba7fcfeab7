// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker.hpp"

/// Nothing is left behind: a program that has nothing has nothing on the server either, and when
/// everything has run out the servers are empty.
namespace holdfast::sim {

class leftover_checker final : public checker {
public:
    leftover_checker() : checker("leftovers") {}

    using checker::see;
    void see(const seen::process_idle& e) override;
    void see(const seen::world_ended& e) override;
};

}  // namespace holdfast::sim
