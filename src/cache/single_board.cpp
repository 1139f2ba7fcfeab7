// SPDX-License-Identifier: Apache-2.0
//
// A board of one sorted set: each call is one script, so each is one trip and atomic.
#include "cache/board.hpp"
#include "cache/board_scripts.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace holdfast::detail {
namespace {

constexpr std::size_t read_header = 4;

class single_board final : public board {
public:
    single_board(command_access where, const std::string& name, const leaderboard_options& options)
        : where_(std::move(where)),
          keys_{std::string(kept_key(options.prefix, name, kept::board_players).view()),
                std::string(kept_key(options.prefix, name, kept::board_members).view()),
                std::string(kept_key(options.prefix, name, kept::board_scores).view())},
          life_(options.life),
          timeout_(options.timeout),
          dense_(options.dense_ranks) {}

    result<board_change> write(board_write how, std::string_view member, double score) override;
    result<std::optional<standing>> rank(std::string_view member) override;
    result<std::vector<board_row>> page(std::uint64_t skip, std::size_t n) override;
    result<std::vector<board_row>> around(std::string_view member, std::size_t n) override;
    result<std::uint64_t> size() override;
    result<board_upkeep> tend() override { return board_upkeep{.segments = 1}; }
    result<board_repair> repair() override { return board_repair{}; }
    result<void> drop() override;

private:
    [[nodiscard]] result<reply> read(std::string_view member, std::uint64_t skip, std::size_t n);
    [[nodiscard]] static rows_above above(const reply& seen);
    [[nodiscard]] std::string_view dense_word() const { return dense_ ? "1" : "0"; }

    command_access where_;
    std::array<std::string, 3> keys_;  // players, members, scores
    duration life_;
    duration timeout_;
    bool dense_;
};

result<board_change> single_board::write(board_write how, std::string_view member, double score) {
    const std::string text = score_text(score);
    const auto again = how == board_write::increase ? repeat::never : repeat::idempotent;
    script_call q(board_scripts::all().write, keys_.size(), again);
    for (const auto& key : keys_) q.word(key);
    q.word(member);
    q.word(to_word(how));
    q.word(text);
    q.word(to_ms(life_));
    q.word(dense_word());
    const auto done = ask(where_, q.as_command(), keys_[0], timeout_);
    if (!done) return std::unexpected(done.error());
    const auto& list = done->elements();
    if (list.size() == 2) return board_change{score_of(list[1].text()), list[0].number() == 1};
    return fail(errc::invalid_argument, "the sum is no finite number");
}

result<reply> single_board::read(std::string_view member, std::uint64_t skip, std::size_t n) {
    script_call q(board_scripts::all().read, keys_.size(), repeat::idempotent);
    for (const auto& key : keys_) q.word(key);
    q.word(member);
    q.word(skip);
    q.word(n);
    q.word(dense_word());
    return ask(where_, q.as_command(), keys_[0], timeout_);
}

rows_above single_board::above(const reply& seen) {
    const auto& list = seen.elements();
    return {.players = static_cast<std::uint64_t>(list[1].number()),
            .better = static_cast<std::uint64_t>(list[2].number()),
            .dense = static_cast<std::uint64_t>(list[3].number())};
}

result<std::optional<standing>> single_board::rank(std::string_view member) {
    const auto seen = read(member, 0, 0);
    if (!seen) return std::unexpected(seen.error());
    if (seen->elements().size() < read_header + 2) return std::nullopt;
    std::vector<board_row> rows;
    add_rows(rows, std::span(seen->elements()).subspan(read_header), above(*seen), dense_);
    standing found;
    static_cast<board_row&>(found) = std::move(rows.front());
    found.players = static_cast<std::uint64_t>(seen->elements()[0].number());
    return found;
}

result<std::vector<board_row>> single_board::page(std::uint64_t skip, std::size_t n) {
    const auto seen = read({}, skip, n);
    if (!seen) return std::unexpected(seen.error());
    std::vector<board_row> rows;
    add_rows(rows, std::span(seen->elements()).subspan(read_header), above(*seen), dense_);
    return rows;
}

result<std::vector<board_row>> single_board::around(std::string_view member, std::size_t n) {
    const auto seen = read(member, 0, n);
    if (!seen) return std::unexpected(seen.error());
    std::vector<board_row> rows;
    if (seen->elements().size() < read_header) return rows;
    add_rows(rows, std::span(seen->elements()).subspan(read_header), above(*seen), dense_);
    return rows;
}

result<std::uint64_t> single_board::size() {
    const auto seen = ask(where_, words("ZCARD", keys_[0]).idempotent(), keys_[0], timeout_);
    if (!seen) return std::unexpected(seen.error());
    return static_cast<std::uint64_t>(seen->number());
}

result<void> single_board::drop() {
    const auto gone = words("UNLINK", keys_[0], keys_[1], keys_[2]);
    const auto done = ask(where_, gone.idempotent(), keys_[0], timeout_);
    if (!done) return std::unexpected(done.error());
    return {};
}

}  // namespace

std::shared_ptr<board> make_single_board(command_access where, std::string name,
                                         const leaderboard_options& options) {
    return std::make_shared<single_board>(std::move(where), name, options);
}

}  // namespace holdfast::detail
