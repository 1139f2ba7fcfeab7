// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker.hpp"

#include <map>
#include <set>
#include <string>

/// Fences strictly grow from one holding of a name to the next, and never repeat.
///
/// Who asked after another was granted has the larger fence, whatever the world did: that needs no
/// exclusion. Where beliefs do not overlap, the order of the grants is total, and so is that of the
/// fences.
namespace holdfast::sim {

class fence_checker final : public checker {
public:
    explicit fence_checker(bool in_order_of_grants)
        : checker("fences"), total_(in_order_of_grants) {}

    using checker::see;
    void see(const seen::call_began& e) override;
    void see(const seen::call_ended& e) override;
    void see(const seen::holding_began& e) override;

private:
    struct record {
        std::uint64_t largest = 0;
        std::set<std::uint64_t> given;
    };
    const bool total_;
    std::map<std::string, record> by_name_;
    std::map<std::uint64_t, std::uint64_t> largest_at_call_;
};

}  // namespace holdfast::sim
