// SPDX-License-Identifier: Apache-2.0
//
// holdfast board: leaderboards.
#include "command_line.hpp"
#include "commands/cache/stored_options.hpp"
#include "core/json_text.hpp"
#include "error_output.hpp"
#include "printable.hpp"
#include "table.hpp"

#include <holdfast/leaderboard.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <memory>

namespace holdfast::app {
namespace {

struct board_command_options : stored_options {
    std::string name;
    std::string member;
    double score = 0;
    std::string season;
    std::string order = "highest";
    std::string keep = "latest";
    int split_at = 0;
    int count = 10;
    int skip = 0;
};

bool is_number(std::string_view text) {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, wrong] = std::from_chars(text.data(), end, number);
    return wrong == std::errc{} && rest == end && std::isfinite(number);
}

leaderboard open_board(const client& on, const board_command_options& options) {
    return leaderboard(on, options.name,
                       {.order = options.order == "lowest" ? board_order::lowest_first
                                                           : board_order::highest_first,
                        .season = options.season,
                        .split_at = static_cast<std::size_t>(options.split_at),
                        .prefix = options.prefix,
                        .timeout = stored_timeout});
}

detail::json_object row_json(const board_row& row) {
    detail::json_object out;
    out.put("member", row.member);
    out.raw("score", fmt::format("{}", row.score));
    out.put("ordinal", row.ordinal);
    out.put("competition", row.competition);
    return out;
}

exit_code print_rows(const result<std::vector<board_row>>& rows,
                     const board_command_options& options) {
    if (!rows) return complain(rows.error());
    table out({"RANK", "SCORE", "MEMBER"});
    for (const auto& row : *rows) {
        if (options.json()) fmt::print("{}\n", row_json(row).text());
        out.add(
            {std::to_string(row.competition), fmt::format("{}", row.score), printable(row.member)});
    }
    if (!options.json() && !rows->empty()) fmt::print("{}", out.text(terminal::of(STDOUT_FILENO)));
    if (rows->empty()) fmt::print(stderr, "nobody\n");
    return exit_code::success;
}

exit_code print_rank(leaderboard& board, const board_command_options& options) {
    const auto seen = board.rank(options.member);
    if (!seen) return complain(seen.error());
    if (!*seen) {
        fmt::print(stderr, "'{}' has no score\n", printable(options.member));
        return exit_code::failure;
    }
    const standing& one = **seen;
    if (options.json()) {
        detail::json_object out = row_json(one);
        out.put("players", one.players);
        out.put("percentile", one.percentile());
        fmt::print("{}\n", out.text());
    } else {
        fmt::print("{} of {}, score {}\n", one.competition, one.players, one.score);
    }
    return exit_code::success;
}

exit_code print_change(const result<board_change>& done, const board_command_options& options) {
    if (!done) return complain(done.error());
    detail::json_object out;
    out.put("member", options.member);
    out.raw("score", fmt::format("{}", done->score));
    out.put("changed", done->changed);
    fmt::print("{}\n", options.json() ? out.text() : fmt::format("{}", done->score));
    return exit_code::success;
}

exit_code print_repair(const result<board_repair>& found, const board_command_options& options) {
    if (!found) return complain(found.error());
    detail::json_object out;
    out.put("players", found->players);
    out.put("missing", found->missing);
    out.put("stray", found->stray);
    fmt::print("{}\n", options.json() ? out.text()
                                      : fmt::format("{} players, {} missing, {} stray; mended",
                                                    found->players, found->missing, found->stray));
    return exit_code::success;
}

exit_code print_upkeep(const result<board_upkeep>& done, const board_command_options& options) {
    if (!done) return complain(done.error());
    detail::json_object out;
    out.put("segments", done->segments);
    out.put("shifts", done->shifts);
    out.put("merges", done->merges);
    out.put("finished", done->finished);
    fmt::print("{}\n", options.json() ? out.text()
                                      : fmt::format("{} segments, {} moves, {} merges",
                                                    done->segments, done->shifts, done->merges));
    return exit_code::success;
}

enum class board_act { top, rank, around, add, increase, remove, tend, repair };

exit_code act_on(board_act what, const board_command_options& options) {
    const bool looks =
        what == board_act::top || what == board_act::rank || what == board_act::around;
    auto on = open_shared(options.engine, looks ? purpose::look : purpose::work);
    if (!on) return complain(on.error());
    auto board = open_board(*on, options);
    const auto count = static_cast<std::size_t>(options.count);
    switch (what) {
        case board_act::top:
            return print_rows(board.top(count, static_cast<std::uint64_t>(options.skip)), options);
        case board_act::around: return print_rows(board.around(options.member, count), options);
        case board_act::rank: return print_rank(board, options);
        case board_act::add:
            return print_change(
                board.add(options.member, options.score,
                          options.keep == "best" ? board_keep::best : board_keep::latest),
                options);
        case board_act::increase:
            return print_change(board.increase(options.member, options.score), options);
        case board_act::remove: {
            const auto gone = board.remove(options.member);
            if (!gone) return complain(gone.error());
            return *gone ? exit_code::success : exit_code::failure;
        }
        case board_act::tend: return print_upkeep(board.tend(), options);
        case board_act::repair: return print_repair(board.repair(), options);
    }
    return exit_code::failure;
}

// The words of one act; `member` and `score`: does it take them?
std::shared_ptr<board_command_options> add_act(CLI::App& words, command_list& all, board_act what,
                                               bool member, bool score) {
    auto options = std::make_shared<board_command_options>();
    options->prefix = leaderboard_options{}.prefix;
    words.add_option("BOARD", options->name, "Which")->required();
    if (member) words.add_option("MEMBER", options->member, "Whose")->required();
    if (score) {
        words.add_option("SCORE", options->score, "How much")
            ->required()
            ->check([](const std::string& said) {
                return is_number(said) ? std::string()
                                       : fmt::format("'{}' is no number; say 12 or -3.5", said);
            });
    }
    words.add_option("--season", options->season, "Which season")->type_name("TEXT");
    add_choice(words, "--order", options->order, {"highest", "lowest"}, "Which score is the best");
    add_whole(words, "--split-at", options->split_at, {0, 1'000'000},
              "The board is segmented, and how large segments get");
    add_stored_options(words, *options);
    all.push_back({.words = &words, .run = [options, what] { return act_on(what, *options); }});
    return options;
}

}  // namespace

void add_board(CLI::App& to, command_list& all) {
    CLI::App* words = to.add_subcommand("board", "Leaderboards: ranks, scores, upkeep");
    words->group("");  // cache names it
    words->footer(
        "Examples:\n"
        "  holdfast board add game_leaderboard alice 1200\n"
        "  holdfast board top game_leaderboard -n 3\n"
        "\n"
        "All users of a board must pass the same --order and --split-at.\n");
    constexpr auto codes = "Exit codes: 0 done, 2 misuse, 5 no answer\n";
    constexpr auto found = "Exit codes: 0 done, 1 no such member, 2 misuse, 5 no answer\n";
    CLI::App* top = words->add_subcommand("top", "List the best");
    const auto page = add_act(*top, all, board_act::top, false, false);
    add_whole(*top, "-n,--count", page->count, {1, 10'000}, "How many");
    add_whole(*top, "--skip", page->skip, {0, 1'000'000'000}, "Begin behind so many");
    top->footer(codes);
    CLI::App* rank = words->add_subcommand("rank", "Print where a member stands");
    add_act(*rank, all, board_act::rank, true, false);
    rank->footer(found);
    CLI::App* around = words->add_subcommand("around", "List a member and its neighbours");
    const auto near = add_act(*around, all, board_act::around, true, false);
    add_whole(*around, "-n,--count", near->count, {0, 4999}, "How many before and behind");
    around->footer(codes);
    CLI::App* add = words->add_subcommand("add", "Set a member's score");
    const auto set = add_act(*add, all, board_act::add, true, true);
    add_choice(*add, "--keep", set->keep, {"latest", "best"}, "Which score counts");
    add->footer(codes);
    CLI::App* more = words->add_subcommand("increase", "Add to a member's score");
    add_act(*more, all, board_act::increase, true, true);
    more->footer("A negative number stands after '--'.\n" + std::string(codes));
    CLI::App* remove = words->add_subcommand("rm", "Remove a member");
    add_act(*remove, all, board_act::remove, true, false);
    remove->footer(found);
    CLI::App* tend = words->add_subcommand("tend", "Split and merge segments, end dead writes");
    add_act(*tend, all, board_act::tend, false, false);
    tend->footer(codes);
    CLI::App* repair = words->add_subcommand("repair", "Compare all members with the segments");
    add_act(*repair, all, board_act::repair, false, false);
    repair->footer(codes);
}

}  // namespace holdfast::app
