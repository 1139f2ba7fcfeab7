// SPDX-License-Identifier: Apache-2.0
//
// The embedded engine answers as Redis does.
//
// Random command sequences run on a real redis-server and on the engine, and every reply is
// compared, error texts included. A difference is shrunk to the fewest commands that show it.
//
//   differential_test --seed 7 --commands 1          replays the sequence of seed 7
//   differential_test --steps 300 --reports 50       shorter sequences, more reports
//   HOLDFAST_DIFFERENTIAL_COMMANDS=5000000 …         a long run (default 200000 in all)
//
// Error texts are compared as they are. Not compared is what Redis itself leaves open: the order of
// unordered replies, cursors other than 0, how ZSCAN writes a score, when an expired key stops
// counting in DBSIZE, and the milliseconds that pass between the two sides. The grammar leaves out
// what depends on Redis's encodings (a score of -0, BYLEX among different scores) and the texts of
// Lua's own faults and compile errors, which belong to the interpreter.
#include "differential/duel.hpp"
#include "differential/sequence_grammar.hpp"
#include "differential/target.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cstdlib>
#include <functional>
#include <map>
#include <string_view>

#ifdef HOLDFAST_HAS_MEMORY_ENGINE
#include "driver/memory/memory_engine.hpp"
#include "resp/resp_server.hpp"
#endif

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

struct settings {
    std::uint64_t seed = 1;
    std::size_t commands = 200'000;
    std::size_t steps = 2000;  ///< of one sequence
    std::size_t most_reports = 10;
};

settings& chosen() {
    static settings s;
    return s;
}

// One report for each kind of difference: the command and what the two sides say, without values.
std::string kind_of(const operation& step, const difference& d) {
    const auto shape = [](const reply& r) {
        return r.is_error() ? r.text().substr(0, 24) : std::to_string(static_cast<int>(r.type()));
    };
    if (d.expected.text().starts_with("ERR unknown command")) return "unknown command";
    return command_name(step.args) + "/" + shape(d.expected) + "/" + shape(d.actual);
}

struct tally {
    std::size_t commands = 0;
    std::map<std::string, std::string> reports{};
};

tally run_many(target& oracle, target& subject, const settings& s) {
    tally t;
    duel fight(oracle, subject);
    for (auto seed = s.seed; t.commands < s.commands && t.reports.size() < s.most_reports; ++seed) {
        auto steps = draw_sequence(seed, s.steps);
        t.commands += steps.size();
        const auto found = fight.play(steps);
        if (!found) continue;
        const std::string kind = kind_of(steps[found->step], *found);
        if (t.reports.contains(kind)) continue;
        const auto minimal = fight.shrink(std::move(steps), *found, 20s);
        const auto again = fight.play(minimal);
        t.reports[kind] =
            again ? report(seed, minimal, *again)
                  : fmt::format("seed {}: a difference that did not come again\n{}", seed,
                                report(seed, minimal,
                                       {minimal.size() - 1, found->expected, found->actual}));
    }
    return t;
}

void expect_no_difference(const tally& t) {
    for (const auto& [kind, text] : t.reports) ADD_FAILURE() << text;
    testing::Test::RecordProperty("commands", static_cast<int>(t.commands));
}

/// A target whose replies are falsified: what a wrong engine would look like.
class liar final : public target {
public:
    using lie = std::function<reply(const word_vector&, const reply&)>;
    explicit liar(lie tell) : tell_(std::move(tell)) {}
    void start_over() override { truth_.start_over(); }
    std::vector<reply> run(std::uint8_t session, std::span<const operation> steps) override {
        auto replies = truth_.run(session, steps);
        for (std::size_t i = 0; i < replies.size(); ++i) {
            replies[i] = tell_(steps[i].args, replies[i]);
        }
        return replies;
    }
    reply transaction(const std::vector<word_vector>& body) override {
        return truth_.transaction(body);
    }

private:
    redis_target truth_;
    lie tell_;
};

// The minimal sequence's length, or 0 if nothing was found.
std::size_t steps_that_show(const liar::lie& lie) {
    redis_target oracle;
    liar subject(lie);
    duel fight(oracle, subject);
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        auto steps = draw_sequence(seed, 2000);
        if (const auto found = fight.play(steps)) {
            return fight.shrink(std::move(steps), *found, 20s).size();
        }
    }
    return 0;
}

TEST(differential, finds_nothing_between_two_real_servers) {
    redis_target left;
    redis_target right;
    settings s = chosen();
    s.commands = std::min<std::size_t>(s.commands, 40'000);
    if (std::getenv("HOLDFAST_DIFFERENTIAL_COMMANDS") != nullptr) s.commands = chosen().commands;
    expect_no_difference(run_many(left, right, s));
}

TEST(differential, finds_a_remaining_time_that_is_one_second_off) {
    const auto steps = steps_that_show([](const word_vector& args, const reply& r) {
        return command_name(args) == "TTL" && r.number() > 0 ? reply::integer(r.number() + 1) : r;
    });
    EXPECT_GE(steps, 2U);
    EXPECT_LE(steps, 4U);
}

TEST(differential, finds_a_wrong_error_text) {
    const auto steps = steps_that_show([](const word_vector&, const reply& r) {
        return r.text() == "ERR no such key" ? reply::error("ERR no such Key") : r;
    });
    EXPECT_GE(steps, 1U);
    EXPECT_LE(steps, 2U);  // at most SCRIPT LOAD goes before
}

TEST(differential, finds_a_float_that_is_written_differently) {
    const auto steps = steps_that_show([](const word_vector& args, const reply& r) {
        const bool scored = command_name(args) == "ZINCRBY";
        return scored && r.text() == "0.10000000000000001" ? reply::string("0.1") : r;
    });
    EXPECT_GE(steps, 1U);
    EXPECT_LE(steps, 3U);
}

TEST(differential, finds_a_transaction_that_ignores_a_changed_key) {
    const auto steps = steps_that_show([](const word_vector& args, const reply& r) {
        return command_name(args) == "EXEC" && r.is_nil() ? reply::array({}) : r;
    });
    EXPECT_GE(steps, 4U);  // WATCH, a change, MULTI, EXEC
    EXPECT_LE(steps, 6U);
}

#ifdef HOLDFAST_HAS_MEMORY_ENGINE
/// The embedded engine behind its server: what a client of another process sees.
class served_target final : public target {
public:
    served_target() {
        for (int i = 0; i <= operation::sessions; ++i) {
            sessions_.push_back(raw_connection::to_port(server_->port()));
        }
    }
    void start_over() override {
        for (raw_connection& session : sessions_) (void)session.ask("RESET");
        (void)sessions_[0].ask("FLUSHALL");
        (void)sessions_[0].ask("SCRIPT", "FLUSH");
    }
    std::vector<reply> run(std::uint8_t session, std::span<const operation> steps) override {
        raw_connection& to = sessions_.at(session);
        for (const operation& step : steps) append(to, step.args);
        std::vector<reply> replies;
        for (std::size_t i = 0; i < steps.size(); ++i) replies.push_back(to.next());
        return replies;
    }
    reply transaction(const std::vector<word_vector>& body) override {
        raw_connection& to = sessions_.back();
        append(to, {"MULTI"});
        for (const word_vector& args : body) append(to, args);
        append(to, {"EXEC"});
        for (std::size_t i = 0; i <= body.size(); ++i) (void)to.next();
        return to.next();
    }

private:
    static void append(raw_connection& to, const word_vector& args) {
        const std::vector<std::string_view> views(args.begin(), args.end());
        to.append(views);
    }

    std::unique_ptr<resp_server> server_ =
        resp_server::start(make_memory_engine({.time = &system_clock()})).value();
    std::vector<raw_connection> sessions_;
};

TEST(differential, the_embedded_engine_answers_as_redis_does) {
    redis_target oracle;
    engine_target subject([] { return make_memory_engine({.time = &system_clock()}); });
    expect_no_difference(run_many(oracle, subject, chosen()));
}

TEST(differential, the_embedded_engine_answers_as_redis_does_through_a_socket) {
    redis_target oracle;
    served_target subject;
    settings s = chosen();
    if (std::getenv("HOLDFAST_DIFFERENTIAL_COMMANDS") == nullptr) {
        s.commands = std::min<std::size_t>(s.commands, 40'000);
    }
    expect_no_difference(run_many(oracle, subject, s));
}
#endif

std::size_t number(std::string_view text, std::size_t otherwise) {
    std::size_t value = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value).ptr;
    return end == text.data() + text.size() && !text.empty() ? value : otherwise;
}

}  // namespace
}  // namespace holdfast::test

int main(int argc, char** argv) {
    using holdfast::test::chosen;
    using holdfast::test::number;
    testing::InitGoogleTest(&argc, argv);
    if (const char* many = std::getenv("HOLDFAST_DIFFERENTIAL_COMMANDS")) {
        chosen().commands = number(many, chosen().commands);
    }
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        if (name == "--seed") chosen().seed = number(argv[i + 1], chosen().seed);
        if (name == "--commands") chosen().commands = number(argv[i + 1], chosen().commands);
        if (name == "--steps") chosen().steps = number(argv[i + 1], chosen().steps);
        if (name == "--reports") chosen().most_reports = number(argv[i + 1], 10);
    }
    return RUN_ALL_TESTS();
}
