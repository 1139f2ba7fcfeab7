// SPDX-License-Identifier: Apache-2.0
//
// holdfast bench board: what a rank costs, in one sorted set next to a plain ZREVRANK, and in
// segments next to one set.
//
// Every answer is held against the rank that the player must have.
#include "commands/bench/bench.hpp"
#include "commands/bench/bench_engine.hpp"
#include "commands/bench/board_filling.hpp"
#include "commands/bench/cleanup_process.hpp"
#include "commands/bench/progress.hpp"
#include "commands/bench/rounds.hpp"
#include "option_types.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/leaderboard.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;

constexpr duration board_timeout = 10s;

struct board_bench_options {
    bench_options common{.engine = "redis:"};
    int players = 100'000;
    int segmented = 200'000;
    int segments = 64;
    int threads = 8;
    int seconds = 3;
    int rounds = 3;

    [[nodiscard]] std::chrono::milliseconds slice() const {
        return std::chrono::milliseconds(1000 * seconds / rounds);
    }
};

/// Asks for the rank of one player after the other, in no order.
class rank_operation : public operation {
public:
    rank_operation(const filled_board& of, int worker)
        : of_(of), player_(static_cast<std::uint64_t>(worker) * 7919) {}

    result<void> take() override {
        player_ = (player_ + 1'000'003) % of_.players;
        return ask(of_, player_);
    }

protected:
    [[nodiscard]] virtual result<void> ask(const filled_board& of, std::uint64_t player) = 0;
    [[nodiscard]] static result<void> must_be(bool right) {
        if (right) return {};
        return fail(errc::corrupt, "a rank was not what it had to be");
    }

private:
    const filled_board& of_;
    std::uint64_t player_;
};

class our_rank final : public rank_operation {
public:
    our_rank(const filled_board& of, int worker, std::shared_ptr<leaderboard> board)
        : rank_operation(of, worker), board_(std::move(board)) {}

private:
    result<void> ask(const filled_board& of, std::uint64_t player) override {
        const auto seen = board_->rank(filled_board::member(player));
        if (!seen) return std::unexpected(seen.error());
        return must_be(*seen && (*seen)->ordinal == of.ordinal(player) &&
                       (*seen)->competition == of.competition(player) &&
                       (*seen)->players == of.players);
    }

    std::shared_ptr<leaderboard> board_;
};

class plain_rank final : public rank_operation {
public:
    plain_rank(const filled_board& of, int worker, std::shared_ptr<command_engine> engine)
        : rank_operation(of, worker), engine_(std::move(engine)), key_(of.players_key()) {}

private:
    result<void> ask(const filled_board& of, std::uint64_t player) override {
        const std::string entry = filled_board::entry(player);
        const auto ask = words("ZREVRANK", key_, entry);
        const auto seen = engine_->execute(ask.idempotent(), engine_->time().now() + board_timeout);
        if (!seen) return std::unexpected(seen.error());
        return must_be(static_cast<std::uint64_t>(seen->number()) + 1 == of.ordinal(player));
    }

    std::shared_ptr<command_engine> engine_;
    std::string key_;
};

class board_bench {
public:
    board_bench(const board_bench_options& options, const bench_engine& engine)
        : options_(options), engine_(engine) {}

    result<std::vector<figure>> run() {
        progress shown("bench board", 2 + 4 * options_.rounds);
        shown.step(fmt::format("filling {} players", one_.players));
        if (auto done = fill(one_); !done) return std::unexpected(std::move(done.error()));
        shown.step(fmt::format("filling {} players in segments", many_.players));
        if (auto done = fill(many_); !done) return std::unexpected(std::move(done.error()));
        std::vector<figure> found;
        auto single = compare("board rank", "ZREVRANK by the same client", our_ranks(one_),
                              plain_ranks(one_), shown);
        if (!single) return std::unexpected(std::move(single.error()));
        found.push_back(std::move(*single));
        auto segmented = compare(
            fmt::format("board rank, {} players in {} segments", many_.players, many_.segments),
            fmt::format("a rank in one set of {}", one_.players), our_ranks(many_), our_ranks(one_),
            shown);
        if (!segmented) return std::unexpected(std::move(segmented.error()));
        found.push_back(std::move(*segmented));
        return found;
    }

    void sweep() const {
        if (auto on = open(engine_.url)) {
            static_cast<void>(one_.drop(*on->commands()));
            static_cast<void>(many_.drop(*on->commands()));
        }
    }

private:
    [[nodiscard]] result<void> fill(const filled_board& board) const {
        auto on = open(engine_.url);
        if (!on) return std::unexpected(std::move(on.error()));
        return board.fill(*on->commands());
    }

    [[nodiscard]] worker_plan our_ranks(const filled_board& of) const {
        return [&of](client& on) -> operation_maker {
            const leaderboard_options how{.split_at = of.segments > 0 ? std::size_t{1'000'000} : 0,
                                          .prefix = filled_board::prefix,
                                          .timeout = board_timeout};
            auto board = std::make_shared<leaderboard>(on, of.name, how);
            return
                [&of, board](int worker) { return std::make_unique<our_rank>(of, worker, board); };
        };
    }

    [[nodiscard]] static worker_plan plain_ranks(const filled_board& of) {
        return [&of](client& on) -> operation_maker {
            return [&of, engine = on.commands()](int worker) {
                return std::make_unique<plain_rank>(of, worker, engine);
            };
        };
    }

    result<figure> compare(const std::string& name, const std::string& reference,
                           const worker_plan& ours, const worker_plan& theirs,
                           progress& shown) const {
        const worker_setup setup{.workers = options_.threads, .length = options_.slice()};
        round_log seen;
        for (int i = 0; i < options_.rounds; ++i) {
            shown.step(reference);
            const auto other = measure_round(engine_, setup, theirs);
            if (!other) return std::unexpected(other.error());
            shown.step(name);
            const auto mine = measure_round(engine_, setup, ours);
            if (!mine) return std::unexpected(mine.error());
            seen.add(*mine);
            seen.add_reference(*other);
        }
        return seen.summary({.bench = name,
                             .engine = engine_.label,
                             .workers = options_.threads,
                             .seconds = static_cast<double>(options_.seconds),
                             .cpus = engine_.cpus},
                            reference);
    }

    const board_bench_options& options_;
    const bench_engine& engine_;
    const filled_board one_{"one", static_cast<std::uint64_t>(options_.players), 0};
    const filled_board many_{"many", static_cast<std::uint64_t>(options_.segmented),
                             options_.segments};
};

exit_code run_board(const board_bench_options& options) {
    const auto engine = bench_engine::make(options.common);
    if (!engine) return cannot_measure(engine.error());
    if (engine->of != bench_engine::kind::server) {
        return cannot_measure({errc::invalid_argument,
                               "--engine: boards of this size are measured on a server; take "
                               "redis: or redis://host:port"});
    }
    board_bench bench(options, *engine);
    // The server may be the user's own.
    cleanup_process sweep;
    if (engine->owned.empty()) {
        sweep = {cleanup_process::after::us, [&bench] { bench.sweep(); }};
    }
    const auto found = bench.run();
    if (!found) return cannot_measure(found.error());
    return report(*found, options.common);
}

}  // namespace

void add_bench_board(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<board_bench_options>();
    options->common.engines = "redis: or redis://host:port";
    CLI::App* words = to.add_subcommand("board", "Ranks in leaderboards of very many players");
    add_bench_options(*words, options->common);
    add_whole(*words, "--players", options->players, {2, 100'000'000}, "Players in one sorted set");
    add_whole(*words, "--segmented", options->segmented, {2, 100'000'000}, "Players in segments");
    add_whole(*words, "--segments", options->segments, {1, 4096}, "Number of segments");
    add_whole(*words, "--threads", options->threads, {1, 1024}, "Threads that share a board");
    add_whole(*words, "--seconds", options->seconds, {1, 3600}, "How long for each");
    add_whole(*words, "--rounds", options->rounds, {1, 100}, "Rounds, with the reference in turn");
    words->footer(std::string("Each rank is compared with the one that the player must have.\n"
                              "Example, of the size that the guide's figures have (2 GB):\n"
                              "  holdfast bench board --players 1000000 --segmented 10000000\n") +
                  bench_exit_codes);
    add_measurement(all, words, options->common, [options] { return run_board(*options); });
}

}  // namespace holdfast::app
