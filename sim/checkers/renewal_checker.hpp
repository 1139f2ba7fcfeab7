// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>

/// Nothing is renewed that its holder has given back, or does not believe in any more.
namespace holdfast::sim {

class renewal_checker final : public checker {
public:
    renewal_checker() : checker("renewals") {}

    using checker::see;
    void see(const seen::holding_began& e) override;
    void see(const seen::holding_ended& e) override;
    void see(const seen::process_crashed& e) override;
    void see(const seen::request_sent& e) override;

private:
    struct holding {
        unsigned process;
        std::string name;
        std::uint64_t fence;
        const believer* who;
    };
    std::map<std::uint64_t, holding> open_;
    std::set<std::pair<unsigned, owner_token>> ended_owners_;
};

}  // namespace holdfast::sim
