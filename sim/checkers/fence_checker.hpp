// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>

/// Fences strictly grow from one holding of a name to the next, and never repeat.
///
/// Whom the engine granted it and who had asked after another was granted has the larger fence,
/// whatever the world did: that needs no exclusion. A program passes a name on among its threads
/// without a trip, with fences that it got with its own: where the engine may forget what it
/// granted, those count from when the first of them was asked for. Where beliefs do not overlap,
/// the order of the grants is total, and so is that of the fences.
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
    /// The last of a program's holdings of a name that followed each other. It may have several
    /// such lines at once, where a lease that it believes in is not the engine's any more.
    struct last_of_line {
        std::string name;
        unsigned process = 0;
        std::uint64_t fence = 0;
        friend auto operator<=>(const last_of_line&, const last_of_line&) = default;
    };
    const bool total_;
    std::map<std::string, record> by_name_;
    /// The largest fence when the first of the line was asked for.
    std::map<last_of_line, std::uint64_t> lines_;
    std::map<std::uint64_t, std::uint64_t> largest_at_call_;
};

}  // namespace holdfast::sim
