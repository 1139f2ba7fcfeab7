// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

/// What a seed draws. Each concern has a stream of its own, so that taking one kind of fault away
/// leaves the draws of the others as they were: that is what makes a failing seed shrink.
namespace holdfast::sim {

class chance {
public:
    chance(std::uint64_t seed, std::uint64_t stream)
        : state_(seed * 0x9E3779B97F4A7C15U + stream * 0xD1B54A32D192ED03U + 0x2545F4914F6CDD1DU) {}

    // splitmix64
    std::uint64_t next() {
        state_ += 0x9E3779B97F4A7C15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31U);
    }

    /// Uniform in [0, bound). Requires: bound > 0.
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }

    /// Uniform in [least, most].
    std::int64_t between(std::int64_t least, std::int64_t most) {
        return least +
               static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most - least) + 1));
    }
    std::chrono::nanoseconds between(std::chrono::nanoseconds least,
                                     std::chrono::nanoseconds most) {
        return std::chrono::nanoseconds(between(least.count(), most.count()));
    }

    /// True so often in a thousand.
    bool permille(std::uint64_t often) { return below(1000) < often; }
    bool coin() { return (next() & 1U) != 0; }

private:
    std::uint64_t state_;
};

}  // namespace holdfast::sim
