// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker.hpp"

#include <map>
#include <utility>
#include <vector>

/// A server's clock that was set is noticed by the next renewal of every program that had renewed
/// something before, unless the step is no longer than what a lease allows for.
namespace holdfast::sim {

class clock_checker final : public checker {
public:
    clock_checker() : checker("clocks") {}

    using checker::see;
    void see(const seen::clock_set& e) override;
    void see(const seen::request_sent& e) override;
    void see(const seen::request_answered& e) override;

private:
    /// The server's time was told somewhere between.
    struct sample {
        moment sent;
        moment heard;
    };
    /// What the clock was set by between the two; nothing if that cannot be said.
    [[nodiscard]] duration stepped(const sample& before, const sample& now) const;

    std::vector<std::pair<moment, duration>> steps_;
    std::map<std::pair<unsigned, owner_token>, moment> sent_;
    std::map<unsigned, sample> last_;
};

}  // namespace holdfast::sim
