// SPDX-License-Identifier: Apache-2.0
//
// Steps of the same session that follow each other travel as one pipeline, on both sides; a change
// of session waits for the replies, so that both sides see one order of all steps.
//
// What the server draws (SPOP, SRANDMEMBER) is checked by membership: each side's choice must have
// been open to the other. SPOP then takes each side's choice from the other too, so that both hold
// the same again.
#include "differential/duel.hpp"

#include "differential/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

namespace holdfast::test {
namespace {

struct queue {
    bool open = false;
    std::vector<const word_vector*> commands;
};

std::multiset<std::string> members_of(const reply& r) {
    if (r.type() == reply::kind::string) return {r.text()};
    std::multiset<std::string> all;
    for (const reply& e : r.elements()) all.insert(e.text());
    return all;
}

std::vector<std::string> only_in(const std::multiset<std::string>& a,
                                 const std::multiset<std::string>& b) {
    std::vector<std::string> list;
    std::ranges::set_difference(a, b, std::back_inserter(list));
    return list;
}

// A reply's error text may hold any bytes.
std::string printable(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        out += byte < 0x20 || byte >= 0x7F ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
    }
    return out;
}

bool all_distinct(const std::multiset<std::string>& all) {
    return std::ranges::adjacent_find(all) == all.end();
}

bool has_members(target& side, const std::string& key, const std::vector<std::string>& members) {
    return std::ranges::all_of(members, [&](const std::string& m) {
        return side.ask({"SISMEMBER", key, m}) == reply::integer(1);
    });
}

}  // namespace

class duel::round {
public:
    round(target& oracle, target& subject, std::span<const operation> steps)
        : oracle_(oracle), subject_(subject), steps_(steps) {}

    outcome play() {
        oracle_.start_over();
        subject_.start_over();
        for (std::size_t at = 0; at < steps_.size() && !seen_.different;) at = advance(at);
        return std::move(seen_);
    }

private:
    // Plays the step at `at` and those that may travel with it. Answers the next.
    std::size_t advance(std::size_t at) {
        const operation& first = steps_[at];
        if (first.what == operation::kind::pause) {
            std::this_thread::sleep_for(std::chrono::milliseconds(first.pause_ms));
            return at + 1;
        }
        if (first.what == operation::kind::transaction) {
            std::vector<const word_vector*> commands;
            for (const word_vector& args : first.body) commands.push_back(&args);
            const reply left = oracle_.transaction(first.body);
            const reply right = subject_.transaction(first.body);
            note(at, compare_each(commands, left, right), left, right);
            return at + 1;
        }
        std::size_t end = at + 1;
        while (end < steps_.size() && steps_[end].what == operation::kind::command &&
               steps_[end].session == first.session && !draws(steps_[end - 1].args)) {
            ++end;
        }
        const auto run = steps_.subspan(at, end - at);
        const auto left = oracle_.run(first.session, run);
        const auto right = subject_.run(first.session, run);
        for (std::size_t i = 0; i < run.size() && !seen_.different; ++i) {
            note(at + i, judge(run[i], left[i], right[i]), left[i], right[i]);
        }
        return end;
    }

    verdict judge(const operation& step, const reply& left, const reply& right) {
        queue& queued = queues_.at(step.session);
        const std::string name = command_name(step.args);
        if (queued.open && left == reply::status("QUEUED")) {
            queued.commands.push_back(&step.args);
            return compare(step.args, left, right);
        }
        if (name == "MULTI" && !left.is_error()) queued = {.open = true, .commands = {}};
        if (name == "EXEC" && left.type() == reply::kind::array) {
            return compare_each(std::exchange(queued, {}).commands, left, right);
        }
        if ((name == "EXEC" || name == "DISCARD") && step.args.size() == 1) queued = {};
        if (step.unordered) return compare_unordered(left, right);
        return draws(step.args) ? settle_draw(step.args, left, right)
                                : compare(step.args, left, right);
    }

    verdict settle_draw(const word_vector& args, const reply& left, const reply& right) {
        if (left == right) return verdict::same;
        const bool drawn = left.type() == reply::kind::string || left.type() == reply::kind::array;
        if (!drawn || left.type() != right.type()) return verdict::different;
        const auto ours = members_of(left);
        const auto theirs = members_of(right);
        const bool repeats = args.size() > 2 && args[2].starts_with('-');
        if (ours.size() != theirs.size() || (!repeats && !all_distinct(theirs))) {
            return verdict::different;
        }
        const std::string& key = args.at(1);
        const auto left_only = only_in(ours, theirs);
        const auto right_only = only_in(theirs, ours);
        if (!has_members(subject_, key, left_only) || !has_members(oracle_, key, right_only)) {
            return verdict::different;
        }
        if (command_name(args) == "SPOP") {
            for (const std::string& m : left_only) (void)subject_.ask({"SREM", key, m});
            for (const std::string& m : right_only) (void)oracle_.ask({"SREM", key, m});
        }
        return verdict::same;
    }

    void note(std::size_t at, verdict v, const reply& left, const reply& right) {
        if (v == verdict::different) seen_.different = difference{at, left, right};
        if (v == verdict::late) seen_.late.push_back({at, left, right});
    }

    target& oracle_;
    target& subject_;
    std::span<const operation> steps_;
    std::array<queue, operation::sessions> queues_;
    outcome seen_;
};

duel::outcome duel::play_once(std::span<const operation> steps) {
    return round(oracle_, subject_, steps).play();
}

std::optional<difference> duel::play(std::span<const operation> steps) {
    constexpr int replays = 4;
    outcome seen = play_once(steps);
    for (int i = 0; i < replays && !seen.different && !seen.late.empty(); ++i) {
        const outcome again = play_once(steps);
        if (again.different) return again.different;
        std::erase_if(seen.late, [&](const difference& d) {
            return std::ranges::none_of(again.late,
                                        [&](const difference& e) { return e.step == d.step; });
        });
    }
    if (!seen.different && !seen.late.empty()) return seen.late.front();
    return seen.different;
}

std::vector<operation> duel::shrink(std::vector<operation> steps, const difference& found,
                                    std::chrono::milliseconds at_most) {
    const auto end = std::chrono::steady_clock::now() + at_most;
    steps.resize(std::min(steps.size(), found.step + 1));
    const operation culprit = steps.back();
    const auto same_culprit = [&](const operation& step) {
        return step.what == culprit.what && command_name(step.args) == command_name(culprit.args);
    };
    for (std::size_t chunk = steps.size() / 2; chunk > 0;) {
        bool shrunk = false;
        for (std::size_t at = 0; at + chunk < steps.size();) {
            if (std::chrono::steady_clock::now() > end) return steps;
            std::vector<operation> fewer(steps.begin(), steps.begin() + static_cast<long>(at));
            fewer.insert(fewer.end(), steps.begin() + static_cast<long>(at + chunk), steps.end());
            const auto still = play(fewer);
            if (still && same_culprit(fewer[still->step])) {
                fewer.resize(still->step + 1);
                steps = std::move(fewer);
                shrunk = true;
            } else {
                at += chunk;
            }
        }
        if (!shrunk || chunk > steps.size()) chunk /= 2;
    }
    return steps;
}

std::string report(std::uint64_t seed, std::span<const operation> minimal,
                   const difference& found) {
    std::string text = fmt::format(
        "seed {} differs at step {}: {}\n  redis answers {}\n  we answer     {}\n"
        "minimal sequence ({} steps):\n",
        seed, found.step, to_string(minimal[found.step]), printable(to_string(found.expected)),
        printable(to_string(found.actual)), minimal.size());
    for (const operation& step : minimal) text += "  " + to_string(step) + "\n";
    return text;
}

}  // namespace holdfast::test
