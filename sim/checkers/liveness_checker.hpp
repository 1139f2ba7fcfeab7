// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker.hpp"

#include <map>

/// After the faults have stopped, every live waiter is granted.
namespace holdfast::sim {

class liveness_checker final : public checker {
public:
    liveness_checker() : checker("liveness") {}

    using checker::see;
    void see(const seen::call_began& e) override;
    void see(const seen::call_ended& e) override;

private:
    std::map<std::uint64_t, seen::call_began> open_;
};

}  // namespace holdfast::sim
