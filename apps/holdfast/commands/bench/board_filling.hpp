// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_engine.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <string>

/// Leaderboards of very many players, written as the library stores them, by a few commands with
/// hundreds of players in each: by add() ten million would take the better part of an hour.
///
/// Two players each have one score; the players come in no order. So the rank of every player is
/// known, and each answer of a measurement is held against it.
namespace holdfast::app {

struct filled_board {
    static constexpr const char* prefix = "bench:board:";

    std::string name;
    std::uint64_t players = 0;
    int segments = 0;  ///< 0: one sorted set.

    /// Errors: the engine's.
    [[nodiscard]] result<void> fill(command_engine& on) const;
    [[nodiscard]] result<void> drop(command_engine& on) const;

    [[nodiscard]] static std::string member(std::uint64_t player);
    /// As the sorted set has it.
    [[nodiscard]] static std::string entry(std::uint64_t player);
    [[nodiscard]] std::uint64_t ordinal(std::uint64_t player) const;
    [[nodiscard]] std::uint64_t competition(std::uint64_t player) const;
    /// Of a board of one sorted set: the set itself.
    [[nodiscard]] std::string players_key() const;

private:
    [[nodiscard]] int segment_of(std::uint64_t player) const;
    [[nodiscard]] std::uint64_t first_score(int segment) const;
    [[nodiscard]] result<void> begin(command_engine& on) const;
};

}  // namespace holdfast::app
