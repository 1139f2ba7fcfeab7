// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker.hpp"

#include <fmt/format.h>

/// As long as somebody believes in a lease, the server has it.
///
/// That is why beliefs do not overlap. But where they could, somebody else would have to come in
/// the few milliseconds between the lease's end and the belief's, which is rare; so the last moment
/// of each belief is judged, whether somebody came or not.
namespace holdfast::sim {

class lease_checker final : public checker {
public:
    lease_checker() : checker("leases") {}

    using checker::see;
    void see(const seen::belief_ending& e) override {
        if (e.on_server) return;
        complain(e.at, fmt::format("'{}': process {} still believes in fence {}, and the server "
                                   "has nothing of it any more",
                                   e.name, e.process, e.fence.value));
    }
};

}  // namespace holdfast::sim
