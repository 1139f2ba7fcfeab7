// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker.hpp"

#include <map>

/// Every call returns exactly once, within its deadline.
namespace holdfast::sim {

class call_checker final : public checker {
public:
    call_checker() : checker("calls") {}

    using checker::see;
    void see(const seen::call_began& e) override;
    void see(const seen::call_ended& e) override;
    void see(const seen::release_ended& e) override;
    void see(const seen::process_crashed& e) override;
    void see(const seen::world_ended& e) override;

private:
    std::map<std::uint64_t, seen::call_began> open_;
};

}  // namespace holdfast::sim
