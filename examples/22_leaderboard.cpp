// SPDX-License-Identifier: Apache-2.0
//
// A game's leaderboard: the best three, where somebody stands and who is near; another season.
#include <holdfast/holdfast.hpp>

#include <iostream>

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:");
    if (!hf) return 1;
    holdfast::leaderboard board(*hf, "game_leaderboard",
                                {.season = "2026-11", .prefix = "example:board:"});
    if (!board.drop()) return 1;
    for (const auto& [player, score] : {std::pair{"alice", 1200.0},
                                        {"bob", 900.0},
                                        {"carol", 1200.0},
                                        {"dave", 300.0},
                                        {"eve", 450.0}}) {
        if (!board.add(player, score)) return 1;
    }
    if (!board.increase("eve", 500)) return 1;

    auto best = board.top(3);
    if (!best) return 1;
    for (const auto& row : *best) {
        std::cout << row.ordinal << ". " << row.member << ' ' << row.score << '\n';
    }
    auto mine = board.rank("bob");
    if (!mine || !*mine) return 1;
    std::cout << "bob is number " << (*mine)->competition << " of " << (*mine)->players << '\n';
    auto near = board.around("bob", 1);
    if (!near || near->size() != 3) return 1;
    std::cout << "behind bob: " << near->back().member << '\n';

    auto next = board.in_season("2026-12").size();
    return next && *next == 0 && best->front().member == "alice" && (*mine)->competition == 4 ? 0
                                                                                              : 1;
}
