// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "process.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

/// What one task of a program has at hand.
namespace holdfast::sim {

struct process::holding final : believer {
    holding(std::uint64_t n, lease l) : number(n), held(std::move(l)) {}
    [[nodiscard]] bool believes() const override { return held.held(); }

    const std::uint64_t number;
    lease held;
    std::optional<std::uint64_t> read;  ///< What it has read from the resource.
};

struct process::task {
    std::unique_ptr<holding> mine;
    std::stop_source stop;
    lease_mode mode;    ///< Of its call.
    bool last = false;  ///< This is the call after which it is done.
    bool done = false;
};

}  // namespace holdfast::sim
