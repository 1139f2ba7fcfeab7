// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker.hpp"
#include "linearize.hpp"

#include <map>
#include <string>
#include <vector>

/// The history of each name is linearizable: there is an order of all calls in which each could
/// have been answered as it was, by one lock that gives growing fences.
///
/// Who was refused is part of it only in worlds without late or repeated messages (`exact`): a
/// request that arrives after its sender has gone holds the name until its ttl is over, and
/// somebody is refused because of a holder that nobody sees.
namespace holdfast::sim {

class history_checker final : public checker {
public:
    explicit history_checker(bool exact) : checker("history"), exact_(exact) {}

    using checker::see;
    void see(const seen::call_began& e) override;
    void see(const seen::call_ended& e) override;
    void see(const seen::holding_began& e) override;
    void see(const seen::holding_ended& e) override;
    void see(const seen::release_ended& e) override;
    void see(const seen::process_crashed& e) override;
    void see(const seen::world_ended& e) override;

private:
    struct call {
        seen::call_began began;
        bool others_waited = false;
    };
    struct holding {
        std::string name;
        unsigned process;
        moment began;
        std::size_t end = no_end;  ///< Its place in the name's operations.
    };
    static constexpr std::size_t no_end = static_cast<std::size_t>(-1);

    void may_have_held(const call& one);
    [[nodiscard]] std::size_t add_end(std::uint64_t number, const holding& one, moment from);

    const bool exact_;
    std::map<std::uint64_t, call> calls_;
    std::map<std::uint64_t, holding> holdings_;
    std::map<std::string, std::vector<lock_operation>> by_name_;
};

}  // namespace holdfast::sim
