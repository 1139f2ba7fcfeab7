// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_access.hpp>
#include <holdfast/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Players by score: who leads, where somebody stands, who is near.
///
///     holdfast::leaderboard board(hf, "game_leaderboard");
///     auto done = board.add("alice", 1200);
///     auto mine = board.rank("alice");
///     if (mine && *mine) show((*mine)->competition, (*mine)->percentile());
///     auto best = board.top(10);
///
/// Of players with one score, the one who reached it first stands higher. A write that changes no
/// score keeps the player's place among them.
///
/// A board is one sorted set, up to some ten million players. With `split_at` it is **segmented**:
/// ranges of scores, each a sorted set of its own, spread over the nodes of a Cluster. A range that
/// grows above `split_at` players is split and a small one merged while the board is in use. A rank
/// is exact: the sizes of all higher segments and the rank inside one. A write takes three trips
/// instead of one, and while it is under way the player may be counted twice, or not at all.
///
/// Limits. Times are those of the servers: of two players on different nodes of a Cluster, the
/// clocks of these decide which was first. Players with one score stay in one segment. Redis
/// replicates asynchronously: a failover can lose writes, which repair() mends on a segmented
/// board.
namespace holdfast {

enum class board_order : std::uint8_t {
    highest_first,
    lowest_first  ///< Times of a race.
};

/// Which score add() keeps.
enum class board_keep : std::uint8_t {
    latest,
    best  ///< The old one, if it is better.
};

struct leaderboard_options {
    board_order order = board_order::highest_first;
    /// Also keep dense ranks, which costs each write two commands more. All users of a board must
    /// say the same.
    bool dense_ranks = false;
    /// Seasons are boards of their own: "2026-11". 0 to 64 of A-Z a-z 0-9 . _ -
    std::string season{};
    /// 0: one sorted set. Otherwise a segment with more players than this is split; 100 to
    /// 1,000,000.
    std::size_t split_at = 0;
    /// A segmented board keeps its players' scores in this many hashes, spread over the nodes; the
    /// first write of a board decides. 1 to 1024.
    std::size_t partitions = 16;
    /// How long a board stays after its last write. A segment stays this long after its own last
    /// write, or the last tend().
    duration life = std::chrono::days(366);
    std::string prefix = "board:";
    /// How long the engine may take to answer one call.
    duration timeout = std::chrono::seconds(1);
};

/// A player on the board. Ranks begin with 1.
struct board_row {
    std::string member;
    double score = 0;
    std::uint64_t ordinal = 0;      ///< 1 2 3 4: by who came first
    std::uint64_t competition = 0;  ///< 1 2 2 4: how many are better, and one
    std::uint64_t dense = 0;        ///< 1 2 2 3; 0 unless `dense_ranks`
};

struct standing : board_row {
    std::uint64_t players = 0;
    /// The share of players, in percent, that are not better: the best has 100.
    [[nodiscard]] double percentile() const;
};

/// What became of a write.
struct board_change {
    double score = 0;  ///< What counts now.
    bool changed = false;
};

/// What tend() did.
struct board_upkeep {
    std::size_t shifts = 0;    ///< Moves of players between neighbouring segments.
    std::size_t merges = 0;    ///< Segments that are gone.
    std::size_t finished = 0;  ///< Writes whose process had died, finished.
    std::size_t segments = 0;  ///< How many there are now.
};

/// What repair() found.
struct board_repair {
    std::uint64_t players = 0;  ///< How many were compared.
    std::uint64_t missing = 0;  ///< Were in no segment, and are again.
    std::uint64_t stray = 0;    ///< Stood where their scores no longer are, and are gone.
};

namespace detail {
class board;
}

/// Thread safety: all members may be called from any thread. Copies are the same board.
class leaderboard {
public:
    static constexpr std::size_t max_rows = 10'000;

    /// Does no I/O; bad arguments are told by the first call.
    leaderboard(command_access where, std::string_view name, leaderboard_options options = {});

    /// Sets a score. With board_keep::best it only ever gets better.
    /// Errors: invalid_argument (name, options, member: 1 to 512 bytes of text; a score that is not
    /// finite), unsupported, corrupt (another program's key, or a lost segment: repair() it); the
    /// engine's; outcome_unknown: perhaps written. On a segmented board also busy: too many write
    /// this player at once.
    /// Blocks: one trip, segmented three; at most `timeout`.
    [[nodiscard]] result<board_change> add(std::string_view member, double score,
                                           board_keep keep = board_keep::latest);

    /// Adds to a score; who had none has 0. Errors: as add(). Not repeated by itself: after
    /// outcome_unknown look with rank().
    [[nodiscard]] result<board_change> increase(std::string_view member, double by);

    /// Answers whether the player was there.
    [[nodiscard]] result<bool> remove(std::string_view member);

    /// Where a player stands. Nothing: it has no score.
    /// Blocks: one trip; segmented two.
    [[nodiscard]] result<std::optional<standing>> rank(std::string_view member);

    /// The best n, n at most max_rows. With `skip`, those behind the first `skip`.
    [[nodiscard]] result<std::vector<board_row>> top(std::size_t n, std::uint64_t skip = 0);

    /// A player with the n before and the n behind it. Empty: it has no score.
    [[nodiscard]] result<std::vector<board_row>> around(std::string_view member, std::size_t n);

    /// How many players there are.
    [[nodiscard]] result<std::uint64_t> size();

    /// The same board in another season.
    [[nodiscard]] leaderboard in_season(std::string_view season) const;

    /// Segmented: splits and merges what needs it, finishes the writes of dead processes, and
    /// prolongs the life of all keys. Call it now and then (each minute, and at least once in a
    /// `life`) from any process; any number may at the same time. A write to a segment that is too
    /// large also splits it, a little each time. On a board of one sorted set it does nothing.
    /// Blocks: as long as there is something to do; each trip at most `timeout`.
    [[nodiscard]] result<board_upkeep> tend();

    /// Segmented: compares every player with the segments and mends what a failover or a process
    /// that was paused for longer than ten seconds has left. The board may be in use.
    /// Blocks: about one trip for each hundred players.
    [[nodiscard]] result<board_repair> repair();

    /// Deletes the board. Writers that work meanwhile may leave a part; it expires.
    [[nodiscard]] result<void> drop();

private:
    std::shared_ptr<detail::board> board_;
    command_access where_;
    std::string name_;
    leaderboard_options options_;
};

}  // namespace holdfast
