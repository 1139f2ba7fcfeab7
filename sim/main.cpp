// SPDX-License-Identifier: Apache-2.0
//
// holdfast-sim: runs seeds until one fails, and says how to see that one again.
#include "mutants.hpp"
#include "run.hpp"
#include "workers.hpp"

#ifdef HOLDFAST_MUTANTS
#include "mutation.hpp"
#endif

#include <holdfast/entropy.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <ranges>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace holdfast::sim;

enum exit_code { all_good = 0, seed_failed = 1, wrong_usage = 2 };

struct arguments {
    std::optional<std::uint64_t> seed;
    campaign what;
    std::int64_t seconds = 0;
    std::string without;
    std::string mutant;
    std::string held;
    std::string servers;
    std::int64_t most_ms = 0;
    bool trace = false;
    bool list_mutants = false;
    bool any_seed = false;
};

double per_second(const progress& now) {
    return static_cast<double>(now.done) * 1000.0 /
           static_cast<double>(std::max<std::int64_t>(now.elapsed.count(), 1));
}

/// How far it is: a bar for a terminal; for a file a line each half minute.
class teller {
public:
    void tell(const campaign& what, const progress& now) {
        if (::isatty(STDERR_FILENO) != 0) return show_bar(what, now);
        if (now.elapsed < next_) return;
        next_ = now.elapsed + std::chrono::seconds(30);
        if (now.done == 0) return;
        fmt::print(stderr, "{} seeds so far, {:.0f}/s, {} failed\n", now.done, per_second(now),
                   now.failures);
    }

private:
    static void show_bar(const campaign& what, const progress& now);

    std::chrono::milliseconds next_{0};
};

void teller::show_bar(const campaign& what, const progress& now) {
    constexpr std::size_t width = 30;
    const double by_count =
        static_cast<double>(now.done) / static_cast<double>(std::max<std::uint64_t>(what.count, 1));
    const double by_time = what.time.count() == 0
                               ? 0.0
                               : static_cast<double>(now.elapsed.count()) / 1000.0 /
                                     static_cast<double>(what.time.count());
    const double part = std::min(1.0, std::max(by_count, by_time));
    const auto full = static_cast<std::size_t>(part * width);
    fmt::print(stderr, "\r[{:=<{}}{: <{}}] {:3.0f} %  {} seeds  {:.0f}/s ", "", full, "",
               width - full, part * 100, now.done, per_second(now));
}

void show_verdict(const verdict& seen) {
    const plan& how = seen.how;
    constexpr std::string_view shapes[] = {"one server", "a master and two replicas",
                                           "a quorum of five"};
    constexpr std::string_view customs[] = {"mutex", "shared mutex", "semaphore"};
    fmt::print("  {}, {} programs, {}, {} ms of faults: {}\n",
               shapes[static_cast<std::size_t>(how.servers)], how.processes,
               customs[static_cast<std::size_t>(how.held)], how.safety.count() / 1'000'000,
               describe(how.faults));
    for (const violation& one : seen.found) {
        fmt::print("  {:.3f} ms  {}: {}\n", static_cast<double>(one.at.count()) / 1e6, one.checker,
                   one.text);
    }
}

std::string replay_words(std::uint64_t seed, const limits& bounds, const plan& how) {
    std::string words = fmt::format("holdfast-sim --seed {}", seed);
    if (bounds.without.any()) words += fmt::format(" --without '{}'", describe(bounds.without));
    if (bounds.processes < 99) words += fmt::format(" --programs {}", bounds.processes);
    if (bounds.safety != moment::max()) {
        words += fmt::format(" --milliseconds {}", how.safety.count() / 1'000'000);
    }
    return words;
}

int show_failure(std::uint64_t seed, const limits& bounds) {
    const verdict first = run_seed(seed, bounds);
    fmt::print("\nseed {} fails\n", seed);
    show_verdict(first);
    if (first.good()) return seed_failed;
    const shrunk small = shrink(seed, bounds, first);
    fmt::print("shrunk in {} runs to\n", small.tries);
    show_verdict(small.last);
    fmt::print("again, with everything that happens:\n  {} --trace\n",
               replay_words(seed, small.bounds, small.last.how));
    return seed_failed;
}

int run_one(const arguments& asked) {
    fmt::print("seed {}\n", *asked.seed);
    const auto what = asked.trace ? writing::everything : writing::nothing;
    const verdict seen = run_seed(*asked.seed, asked.what.bounds, what);
    show_verdict(seen);
    fmt::print("{} events, hash {:016x}\n", seen.events, seen.hash);
    if (asked.what.twice) {
        const verdict again = run_seed(*asked.seed, asked.what.bounds);
        fmt::print("again: hash {:016x}\n", again.hash);
        if (again.hash != seen.hash) return seed_failed;
    }
    return seen.good() ? all_good : seed_failed;
}

// Each with the first thing that was found.
int list_failures(const campaign_end& end, const limits& bounds) {
    for (const std::uint64_t seed : end.all_failed) {
        const verdict seen = run_seed(seed, bounds);
        fmt::print("seed {}", seed);
        for (const violation& one : seen.found | std::views::take(1)) {
            fmt::print("  {}: {}", one.checker, one.text);
        }
        fmt::print("\n");
    }
    fmt::print("{} of {} seeds fail\n", end.all_failed.size(), end.sum.done);
    return seed_failed;
}

int run_many(const arguments& asked) {
    fmt::print("seeds from {}\n", asked.what.first);
    std::fflush(stdout);
    teller progress_to;
    const campaign_end end =
        run_campaign(asked.what, [&](const progress& now) { progress_to.tell(asked.what, now); });
    if (::isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\n");
    fmt::print("{} seeds, {} events, {:.1f} s\n", end.sum.done, end.sum.events,
               static_cast<double>(end.sum.elapsed.count()) / 1000.0);
    if (!end.failed) return all_good;
    if (end.unequal) fmt::print("seed {} ran in two ways\n", *end.failed);
    if (end.crashed) {
        fmt::print("seed {} crashed: holdfast-sim --seed {}\n", *end.failed, *end.failed);
        return seed_failed;
    }
    if (asked.what.go_on) return list_failures(end, asked.what.bounds);
    return show_failure(*end.failed, asked.what.bounds);
}

// Names with blanks between them, as describe() writes them.
bool read_faults(const std::string& text, fault_set& out) {
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        const std::string_view word = std::string_view(text).substr(at, end - at);
        bool known = false;
        for (std::size_t i = 0; i < fault_kinds; ++i) {
            if (to_string(static_cast<fault>(i)) != word) continue;
            out.set(i);
            known = true;
        }
        if (!known) {
            fmt::print(stderr, "there is no fault '{}'\n", word);
            return false;
        }
        at = end + 1;
    }
    return true;
}

std::vector<std::string> held_words() {
    return {"mutex", "shared", "permits"};
}

std::vector<std::string> server_words() {
    return {"one", "replicas", "quorum"};
}

// In the order of the enumeration, as the words are.
template <class Choice>
std::optional<Choice> chosen(const std::vector<std::string>& words, const std::string& word) {
    const auto found = std::ranges::find(words, word);
    if (found == words.end()) return std::nullopt;
    return static_cast<Choice>(found - words.begin());
}

bool choose_mutant(const std::string& name) {
    if (name.empty()) return true;
    if (find_mutant(name) == nullptr) {
        fmt::print(stderr, "there is no mutant '{}': see --list-mutants\n", name);
        return false;
    }
#ifdef HOLDFAST_MUTANTS
    holdfast::choose_mutation(name);
    return true;
#else
    fmt::print(stderr, "this build has no mutants: cmake --preset mutants\n");
    return false;
#endif
}

}  // namespace

int main(int argc, char** argv) {
    arguments asked;
    asked.what.jobs = std::max(1U, std::thread::hardware_concurrency());
    CLI::App app("Simulates many clients in a world of faults, seed after seed.", "holdfast-sim");
    app.add_option("--seed", asked.seed, "Run this one seed");
    app.add_option("--from", asked.what.first, "The first seed")->capture_default_str();
    app.add_flag("--any", asked.any_seed, "Begin at a seed drawn at random");
    app.add_option("--seeds", asked.what.count, "How many seeds")->capture_default_str();
    app.add_option("--seconds", asked.seconds, "Run for so long instead");
    app.add_option("--jobs", asked.what.jobs, "Seeds at once")->capture_default_str();
    app.add_option("--without", asked.without, "Faults that must not happen, with blanks between");
    app.add_option("--programs", asked.what.bounds.processes, "At most so many programs");
    app.add_option("--milliseconds", asked.most_ms, "At most so much time with faults");
    app.add_option("--held", asked.held, "Only: mutex, shared or permits")
        ->check(CLI::IsMember(held_words()));
    app.add_option("--servers", asked.servers, "Only: one, replicas or quorum")
        ->check(CLI::IsMember(server_words()));
    app.add_flag("--twice", asked.what.twice, "Run each seed twice and compare the hashes");
    app.add_flag("--all", asked.what.go_on, "Go on after a failure, and list all seeds that fail");
    app.add_flag("--trace", asked.trace, "Write down everything that happens (with --seed)");
    app.add_option("--mutant", asked.mutant, "Switch this bug on");
    app.add_flag("--list-mutants", asked.list_mutants, "Name the bugs that can be switched on");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? all_good : wrong_usage;
    }
    if (asked.list_mutants) {
        for (const mutant& one : all_mutants()) fmt::print("{}\t{}\n", one.name, one.what);
        return all_good;
    }
    if (!read_faults(asked.without, asked.what.bounds.without)) return wrong_usage;
    if (!choose_mutant(asked.mutant)) return wrong_usage;
    asked.what.bounds.held = chosen<custom>(held_words(), asked.held);
    asked.what.bounds.servers = chosen<shape>(server_words(), asked.servers);
    if (asked.most_ms > 0) asked.what.bounds.safety = std::chrono::milliseconds(asked.most_ms);
    if (asked.any_seed) asked.what.first = holdfast::system_entropy().below(UINT32_MAX);
    if (asked.seconds > 0) {
        asked.what.time = std::chrono::seconds(asked.seconds);
        asked.what.count = UINT64_MAX / 2;
    }
    return asked.seed ? run_one(asked) : run_many(asked);
}
