// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker.hpp"

#include <map>
#include <string>

/// A resource that compares fences never accepts an older one, nor two holders with the same, and
/// so no update is lost: what a holder wrote, it computed from what was there.
namespace holdfast::sim {

class resource_checker final : public checker {
public:
    resource_checker() : checker("resource") {}

    using checker::see;
    void see(const seen::resource_used& e) override;

private:
    struct latest {
        std::uint64_t fence = 0;
        std::uint64_t holding = 0;
    };
    std::map<std::string, latest> by_name_;
};

}  // namespace holdfast::sim
