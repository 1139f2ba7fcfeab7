// SPDX-License-Identifier: Apache-2.0
#include <holdfast/leaderboard.hpp>

#include "cache/board.hpp"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <utility>

namespace holdfast {
namespace {

// Room for what a segmented board adds to a name: "#" and sixteen digits.
constexpr std::size_t most_board_name = detail::max_key_bytes - 17;

std::string seasonal_name(std::string_view name, std::string_view season) {
    return season.empty() ? std::string(name) : fmt::format("{}@{}", name, season);
}

result<void> check_range(std::string_view what, std::size_t given, std::size_t least,
                         std::size_t most) {
    if (given >= least && given <= most) return {};
    return fail(errc::invalid_argument,
                fmt::format("{} is {}: give it {} to {}", what, given, least, most));
}

result<void> check_board(const command_access& where, std::string_view name,
                         const leaderboard_options& options) {
    if (!options.season.empty() && !detail::is_limit_name(options.season)) {
        return fail(errc::invalid_argument, "season: give it 1 to 64 of A-Z a-z 0-9 . _ -");
    }
    const std::string whole = seasonal_name(name, options.season);
    if (whole.size() > most_board_name) {
        return fail(errc::invalid_argument, fmt::format("name and season have {} bytes: at most {}",
                                                        whole.size(), most_board_name));
    }
    auto fit = detail::first_failure(
        {detail::check_place(where), detail::check_span("life", options.life),
         detail::check_prefix(options.prefix), detail::check_timeout(options.timeout),
         detail::check_key(whole), check_range("partitions", options.partitions, 1, 1024)});
    if (!fit || options.split_at == 0) return fit;
    return check_range("split_at", options.split_at, 100, 1'000'000);
}

result<void> check_score(double score) {
    if (std::isfinite(score)) return {};
    return fail(errc::invalid_argument, "a score is a finite number");
}

// A board whose arguments are wrong: says so at each call.
class refused_board final : public detail::board {
public:
    explicit refused_board(error why) : why_(std::move(why)) {}
    result<board_change> write(detail::board_write, std::string_view, double) override {
        return std::unexpected(why_);
    }
    result<std::optional<standing>> rank(std::string_view) override {
        return std::unexpected(why_);
    }
    result<std::vector<board_row>> page(std::uint64_t, std::size_t) override {
        return std::unexpected(why_);
    }
    result<std::vector<board_row>> around(std::string_view, std::size_t) override {
        return std::unexpected(why_);
    }
    result<std::uint64_t> size() override { return std::unexpected(why_); }
    result<board_upkeep> tend() override { return std::unexpected(why_); }
    result<board_repair> repair() override { return std::unexpected(why_); }
    result<void> drop() override { return std::unexpected(why_); }

private:
    error why_;
};

std::shared_ptr<detail::board> make_board(const command_access& where, std::string_view name,
                                          const leaderboard_options& options) {
    if (auto fit = check_board(where, name, options); !fit) {
        return std::make_shared<refused_board>(std::move(fit.error()));
    }
    std::string whole = seasonal_name(name, options.season);
    return options.split_at == 0 ? detail::make_single_board(where, std::move(whole), options)
                                 : detail::make_segmented_board(where, std::move(whole), options);
}

double turned(board_order order, double score) {
    // No negative zero: it would be another text for the same score.
    return order == board_order::lowest_first ? 0.0 - score : score + 0.0;
}

}  // namespace

double standing::percentile() const {
    if (players == 0 || competition > players) return 0;
    return 100.0 * static_cast<double>(players - competition + 1) / static_cast<double>(players);
}

leaderboard::leaderboard(command_access where, std::string_view name, leaderboard_options options)
    : board_(make_board(where, name, options)),
      where_(std::move(where)),
      name_(name),
      options_(std::move(options)) {}

result<board_change> leaderboard::add(std::string_view member, double score, board_keep keep) {
    auto fit = detail::first_failure({detail::check_key(member), check_score(score)});
    if (!fit) return std::unexpected(std::move(fit.error()));
    const auto how =
        keep == board_keep::best ? detail::board_write::best : detail::board_write::set;
    auto done = board_->write(how, member, turned(options_.order, score));
    if (done) done->score = turned(options_.order, done->score);
    return done;
}

result<board_change> leaderboard::increase(std::string_view member, double by) {
    auto fit = detail::first_failure({detail::check_key(member), check_score(by)});
    if (!fit) return std::unexpected(std::move(fit.error()));
    auto done = board_->write(detail::board_write::increase, member, turned(options_.order, by));
    if (done) done->score = turned(options_.order, done->score);
    return done;
}

result<bool> leaderboard::remove(std::string_view member) {
    if (auto fit = detail::check_key(member); !fit) return std::unexpected(std::move(fit.error()));
    const auto done = board_->write(detail::board_write::remove, member, 0);
    if (!done) return std::unexpected(done.error());
    return done->changed;
}

result<std::optional<standing>> leaderboard::rank(std::string_view member) {
    if (auto fit = detail::check_key(member); !fit) return std::unexpected(std::move(fit.error()));
    auto found = board_->rank(member);
    if (found && *found) (*found)->score = turned(options_.order, (*found)->score);
    return found;
}

result<std::vector<board_row>> leaderboard::top(std::size_t n, std::uint64_t skip) {
    if (auto fit = check_range("n", n, 1, max_rows); !fit) {
        return std::unexpected(std::move(fit.error()));
    }
    auto rows = board_->page(std::min<std::uint64_t>(skip, std::uint64_t{1} << 53U), n);
    if (!rows) return rows;
    for (auto& row : *rows) row.score = turned(options_.order, row.score);
    return rows;
}

result<std::vector<board_row>> leaderboard::around(std::string_view member, std::size_t n) {
    auto fit = detail::first_failure(
        {detail::check_key(member), check_range("n", n, 0, max_rows / 2 - 1)});
    if (!fit) return std::unexpected(std::move(fit.error()));
    auto rows = board_->around(member, n);
    if (!rows) return rows;
    for (auto& row : *rows) row.score = turned(options_.order, row.score);
    return rows;
}

result<std::uint64_t> leaderboard::size() {
    return board_->size();
}

leaderboard leaderboard::in_season(std::string_view season) const {
    leaderboard_options options = options_;
    options.season = season;
    return {where_, name_, std::move(options)};
}

result<board_upkeep> leaderboard::tend() {
    return board_->tend();
}

result<board_repair> leaderboard::repair() {
    return board_->repair();
}

result<void> leaderboard::drop() {
    return board_->drop();
}

namespace detail {

std::string score_text(double score) {
    return fmt::format("{}", score);
}

double score_of(std::string_view text) {
    double score = 0;
    std::from_chars(text.data(), text.data() + text.size(), score);
    return score;
}

std::string_view member_of(std::string_view entry) {
    return entry.substr(std::min(entry.size(), stamp_digits + 1));
}

void add_rows(std::vector<board_row>& rows, std::span<const reply> list, const rows_above& above,
              bool dense) {
    for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
        board_row row{.member = std::string(member_of(list[i].text())),
                      .score = score_of(list[i + 1].text()),
                      .ordinal = above.players + rows.size() + 1};
        if (rows.empty()) {
            row.competition = above.better + 1;
            if (dense) row.dense = above.dense + 1;
        } else {
            const board_row& last = rows.back();
            const bool tied = last.score == row.score;
            row.competition = tied ? last.competition : row.ordinal;
            if (dense) row.dense = last.dense + (tied ? 0 : 1);
        }
        rows.push_back(std::move(row));
    }
}

result<reply> run_script(const command_access& where, const script& body,
                         std::span<const std::string> keys, std::span<const std::string> args,
                         repeat again, time_point give_up) {
    const std::string count = std::to_string(keys.size());
    std::vector<std::string_view> list{"EVALSHA", body.sha1(), count};
    list.insert(list.end(), keys.begin(), keys.end());
    list.insert(list.end(), args.begin(), args.end());
    return ask(where, {list, again, &body}, keys.front(), give_up);
}

}  // namespace detail
}  // namespace holdfast
