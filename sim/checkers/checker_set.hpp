// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkers/checker.hpp"
#include "plan.hpp"

#include <memory>
#include <vector>

/// All judges of one world. Each hears everything.
namespace holdfast::sim {

class checker_set {
public:
    /// Those whose promises hold in a world with this plan.
    explicit checker_set(const plan& p);

    /// Writes everything down that is seen, for people.
    void call_scribe();

    template <class Event>
    void see(const Event& what) {
        for (const auto& one : judges_) one->see(what);
    }

    [[nodiscard]] std::vector<violation> found() const;

private:
    std::vector<std::unique_ptr<checker>> judges_;
};

}  // namespace holdfast::sim
