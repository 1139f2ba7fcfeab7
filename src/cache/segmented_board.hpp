// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/board.hpp"
#include "cache/board_keys.hpp"
#include "cache/board_map.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

/// A board of segments: a range of scores is a sorted set, anywhere in a Cluster.
///
/// A player's record says what counts; segments are an index of it. A write changes the record
/// (which notes the entries that the writer must remove), then the segments, then cleans the
/// record. A writer that dies leaves a record that is pending: another process finishes it.
///
/// Reading needs no count that could be wrong: the sizes of all segments are asked, in one trip.
/// How a reader knows that its ranges are right is in board_map.hpp.
namespace holdfast::detail {

/// Commands with texts of their own, sent in one trip.
class command_batch {
public:
    void add(std::vector<std::string> command);
    void add(const script& body, std::span<const std::string> keys,
             std::span<const std::string> args);
    [[nodiscard]] std::size_t size() const noexcept { return commands_.size(); }
    /// Errors: the first that any has.
    [[nodiscard]] result<std::vector<reply>> run(const command_access& where, time_point give_up,
                                                 repeat again = repeat::idempotent);

private:
    struct one {
        std::vector<std::string> texts;
        const script* body;
    };
    std::vector<one> commands_;
};

/// An entry of a record: a score and when it was reached.
struct board_entry {
    std::string score;  // "-": removed
    std::string stamp;
    bool finished = true;  // its writer has ended

    [[nodiscard]] bool counts() const { return score != "-"; }
    [[nodiscard]] std::string text() const;      // as its writer knows it
    [[nodiscard]] std::string recorded() const;  // as it stands in the record
    [[nodiscard]] std::string in_segment(std::string_view member) const;
    [[nodiscard]] static std::optional<board_entry> parse(std::string_view text);
};

[[nodiscard]] std::vector<board_entry> parse_record(std::string_view text);

class segmented_board final : public board {
public:
    segmented_board(command_access where, std::string name, const leaderboard_options& options);

    result<board_change> write(board_write how, std::string_view member, double score) override;
    result<std::optional<standing>> rank(std::string_view member) override;
    result<std::vector<board_row>> page(std::uint64_t skip, std::size_t n) override;
    result<std::vector<board_row>> around(std::string_view member, std::size_t n) override;
    result<std::uint64_t> size() override;
    result<board_upkeep> tend() override;
    result<board_repair> repair() override;
    result<void> drop() override;

private:
    using map_ptr = std::shared_ptr<const board_map>;

    /// An entry that goes into its segment or out of it.
    struct placing {
        enum class act : std::uint8_t { add, remove } what;
        std::string member;
        board_entry entry;
    };
    /// How many players each segment has, all asked in one trip.
    struct segment_sizes {
        std::vector<std::uint64_t> players;
        std::vector<std::uint64_t> scores;  // empty without dense ranks
        std::uint64_t total = 0;
    };

    // Keys.
    [[nodiscard]] std::string map_key() const;
    [[nodiscard]] std::string segment_key(std::string_view id, std::uint64_t version,
                                          std::string_view kind) const;
    [[nodiscard]] std::string partition_key(std::size_t partition, std::string_view kind) const;
    [[nodiscard]] std::string partition_key(const board_map& map, std::string_view member,
                                            std::string_view kind) const;

    // The map.
    [[nodiscard]] result<map_ptr> known_map(time_point give_up);
    [[nodiscard]] result<map_ptr> read_map(time_point give_up);
    [[nodiscard]] result<map_ptr> make_map(time_point give_up);
    [[nodiscard]] result<map_ptr> newer_map(const map_ptr& old, int attempt, time_point give_up);
    void remember(map_ptr map);
    [[nodiscard]] result<bool> replace_map(const board_map* old, const board_map& next,
                                           time_point give_up);
    [[nodiscard]] result<void> make_segment(std::string_view id, std::uint64_t version,
                                            time_point give_up);

    // Moves (board_moves.cpp).
    [[nodiscard]] result<void> finish_move(const board_map& map, time_point give_up);
    void split_near(double score, time_point give_up);
    [[nodiscard]] result<bool> shift_up(const board_map& map, std::size_t segment,
                                        const segment_sizes& sizes);
    [[nodiscard]] result<bool> begin_move(const board_map& map, board_map next);
    [[nodiscard]] result<std::optional<double>> choose_cut(const board_segment& from,
                                                           time_point give_up);
    [[nodiscard]] result<bool> merge_one(const board_map& map, const segment_sizes& sizes);
    [[nodiscard]] result<bool> split_one(const board_map& map, const segment_sizes& sizes);
    [[nodiscard]] result<void> prolong(const board_map& map);

    // Players.
    [[nodiscard]] result<std::uint64_t> place(std::vector<placing> all, time_point give_up);
    [[nodiscard]] result<void> end_write(std::string_view member, const board_entry& made,
                                         const std::vector<board_entry>& old, time_point give_up);
    [[nodiscard]] result<std::optional<segment_sizes>> sizes_of(const board_map& map,
                                                                time_point give_up);
    [[nodiscard]] result<std::string> record_of(const board_map& map, std::string_view member,
                                                time_point give_up);
    enum class look : std::uint8_t { found, old_map, not_placed };
    [[nodiscard]] result<look> rank_under(const board_map& map, std::string_view member,
                                          const board_entry& entry, standing& found,
                                          time_point give_up);
    [[nodiscard]] result<std::optional<std::vector<board_row>>> page_under(const board_map& map,
                                                                           std::uint64_t skip,
                                                                           std::size_t n,
                                                                           time_point give_up);

    // Repair (board_repair.cpp).
    [[nodiscard]] result<bool> settle(const board_map& map, std::string_view member,
                                      time_point give_up);
    [[nodiscard]] result<std::size_t> finish_writes(const board_map& map);
    [[nodiscard]] result<void> repair_members(const board_map& map, const std::vector<reply>& list,
                                              board_repair& found);
    [[nodiscard]] result<void> repair_entries(const board_map& map, const std::vector<reply>& list,
                                              board_repair& found);
    [[nodiscard]] result<map_ptr> whole_map();
    using list_handler = std::function<result<void>(const std::vector<reply>&)>;
    [[nodiscard]] result<void> walk(std::string_view scan, const std::string& key,
                                    const list_handler& handle);

    [[nodiscard]] time_point give_up() const;
    [[nodiscard]] std::string dense_word() const { return options_.dense_ranks ? "1" : "0"; }
    [[nodiscard]] std::string life_word() const { return std::to_string(to_ms(options_.life)); }

    command_access where_;
    std::string name_;
    leaderboard_options options_;
    board_keys keys_;

    std::mutex mutex_;
    map_ptr map_;               // under mutex_
    std::string unsplittable_;  // under mutex_: key of a segment in which too many have one score
};

}  // namespace holdfast::detail
