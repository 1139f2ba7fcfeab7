// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "differential/operation.hpp"
#include "differential/target.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Plays the same steps on two sides and finds the first reply that differs.
namespace holdfast::test {

struct difference {
    std::size_t step = 0;
    reply expected{};
    reply actual{};
};

class duel {
public:
    /// Both outlive it.
    duel(target& oracle, target& subject) : oracle_(oracle), subject_(subject) {}

    /// Plays the steps on two empty sides. Times that differ by a second are a difference only if
    /// they do so at the same step in each of several replays.
    [[nodiscard]] std::optional<difference> play(std::span<const operation> steps);

    /// The fewest steps that it finds, by removing chunks, that still differ at the same command.
    [[nodiscard]] std::vector<operation> shrink(std::vector<operation> steps,
                                                const difference& found,
                                                std::chrono::milliseconds at_most);

private:
    struct outcome {
        std::optional<difference> different{};
        std::vector<difference> late{};
    };
    class round;
    [[nodiscard]] outcome play_once(std::span<const operation> steps);

    target& oracle_;
    target& subject_;
};

/// What a person needs to replay and understand it.
[[nodiscard]] std::string report(std::uint64_t seed, std::span<const operation> minimal,
                                 const difference& found);

}  // namespace holdfast::test
