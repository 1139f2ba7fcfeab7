// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker.hpp"

#include <fmt/format.h>

/// A child of fork() holds nothing and uses nothing of its parent's.
namespace holdfast::sim {

class fork_checker final : public checker {
public:
    fork_checker() : checker("forks") {}

    using checker::see;
    void see(const seen::child_misbehaved& e) override {
        complain(e.at, fmt::format("process {} forked: {}", e.process, e.what));
    }
};

}  // namespace holdfast::sim
