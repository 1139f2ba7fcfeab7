// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command/script_call.hpp"
#include "core/validity.hpp"

#include <holdfast/leaderboard.hpp>

#include <string>
#include <string_view>
#include <vector>

/// What leaderboard stands on: a board of one sorted set, or of segments. Scores are here always
/// "the higher the better"; leaderboard turns the signs of a board that is the other way round.
///
/// In a sorted set a player is `stamp:member`. The stamp is 16 digits: 2^53 - 1 less the server's
/// microseconds when the score was reached; so who came first sorts higher among equal scores.
namespace holdfast::detail {

enum class board_write : std::uint8_t { set, best, increase, remove };

[[nodiscard]] constexpr std::string_view to_word(board_write how) {
    switch (how) {
        case board_write::set: return "set";
        case board_write::best: return "best";
        case board_write::increase: return "increase";
        case board_write::remove: return "remove";
    }
    return {};
}

class board {
public:
    virtual ~board() = default;

    virtual result<board_change> write(board_write how, std::string_view member, double score) = 0;
    virtual result<std::optional<standing>> rank(std::string_view member) = 0;
    virtual result<std::vector<board_row>> page(std::uint64_t skip, std::size_t n) = 0;
    virtual result<std::vector<board_row>> around(std::string_view member, std::size_t n) = 0;
    virtual result<std::uint64_t> size() = 0;
    virtual result<board_upkeep> tend() = 0;
    virtual result<board_repair> repair() = 0;
    virtual result<void> drop() = 0;
};

inline constexpr std::size_t stamp_digits = 16;

/// The digits that give the same number back.
[[nodiscard]] std::string score_text(double score);
/// As Redis writes a number; 0 for what is none.
[[nodiscard]] double score_of(std::string_view text);
/// The member of a sorted set's `stamp:member`.
[[nodiscard]] std::string_view member_of(std::string_view entry);

/// What the first row of a page has above it.
struct rows_above {
    std::uint64_t players = 0;
    std::uint64_t better = 0;  // with a higher score
    std::uint64_t dense = 0;   // different higher scores
};

/// Rows from a list `entry, score, entry, score, …`, appended to `rows`. `above` counts for the
/// first row of all.
void add_rows(std::vector<board_row>& rows, std::span<const reply> list, const rows_above& above,
              bool dense);

[[nodiscard]] std::shared_ptr<board> make_single_board(command_access where, std::string name,
                                                       const leaderboard_options& options);
[[nodiscard]] std::shared_ptr<board> make_segmented_board(command_access where, std::string name,
                                                          const leaderboard_options& options);

/// A script with its keys and arguments, as many as there are.
[[nodiscard]] result<reply> run_script(const command_access& where, const script& body,
                                       std::span<const std::string> keys,
                                       std::span<const std::string> args, repeat again,
                                       time_point give_up);

}  // namespace holdfast::detail
