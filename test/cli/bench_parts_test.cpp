// SPDX-License-Identifier: Apache-2.0
//
// What a measurement shows: its figures and its progress.
#include "commands/bench/figure.hpp"
#include "commands/bench/progress.hpp"
#include "commands/bench/stolen_time.hpp"
#include "display_width.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <regex>
#include <set>
#include <string>

namespace holdfast::app {
namespace {

using testing::HasSubstr;

// Each name that is printed, in whatever object.
std::set<std::string> names_in(const std::string& json) {
    std::set<std::string> names;
    static const std::regex name("\"(\\w+)\": ");
    for (std::sregex_iterator at(json.begin(), json.end(), name), end; at != end; ++at) {
        names.insert((*at)[1]);
    }
    return names;
}

// Each name in the first column of the guide's table.
std::set<std::string> names_in_the_guide() {
    std::ifstream file(HOLDFAST_GUIDE);
    std::set<std::string> names;
    std::string line;
    while (std::getline(file, line) && !line.starts_with("A figure in JSON has these fields.")) {
    }
    std::getline(file, line);
    static const std::regex name("\\w+");
    while (std::getline(file, line) && !line.empty()) {
        const std::string first = line.substr(0, line.find(" |", 2));
        for (std::sregex_iterator at(first.begin(), first.end(), name), end; at != end; ++at) {
            names.insert(at->str());
        }
    }
    return names;
}

TEST(figure, has_no_field_that_is_not_in_the_guide_and_the_guide_none_that_it_has_not) {
    const percentiles some{1, 2, 3};
    const figure all{.bench = "b",
                     .engine = "e",
                     .cpus = "apart",
                     .per_second = 1,
                     .reference = reference_rate{"r", 1, 1, 1, 1, 1, 1, 1},
                     .ratio = 1,
                     .ratio_rounds = spread{1, 1},
                     .disturbed = disturbance{1, 1},
                     .latency_ratio = latency_ratios{1, 1, 1},
                     .client_cpu_us = 1,
                     .server_cpu_us = 1,
                     .server_cpu_ratio = 1,
                     .p99_ratio = 1,
                     .acquire_us = some,
                     .release_us = some,
                     .pair_us = some,
                     .handoff_us = some,
                     .writer_wait_us = some,
                     .reader_hold_us = 1,
                     .writer_bound_us = 1,
                     .handoff_round_trips = 1,
                     .per_worker = extent{1, 1},
                     .commands_per_op = 1,
                     .value_bytes = 1,
                     .leases = 1,
                     .cpu_percent = 1,
                     .renewed = 1,
                     .lost = 1,
                     .least_slack_ms = 1};
    EXPECT_EQ(names_in(to_json(all)), names_in_the_guide());
}

TEST(figure, says_what_a_ratio_is) {
    const figure one{.bench = "b", .engine = "e", .ratio = 0.8, .ratio_rounds = spread{0.7, 0.9}};
    EXPECT_THAT(to_table(one), HasSubstr("0.80   median of rounds from 0.70 to 0.90"));
}

TEST(figure, says_what_the_host_took_if_it_took_anything) {
    figure one{.bench = "b", .engine = "e", .ratio = 0.8, .disturbed = disturbance{0.004, 0}};
    EXPECT_THAT(to_table(one), Not(HasSubstr("stolen")));
    one.disturbed = disturbance{0.12, 3};
    EXPECT_THAT(to_table(one), HasSubstr("0.12   of a processor, by the host; measured again: 3"));
}

TEST(stolen_time, is_the_eighth_number_of_all_processors) {
    EXPECT_EQ(stolen_ticks("cpu  1 2 3 4 5 6 7 89 10 11\ncpu0 1 2 3 4 5 6 7 50 10 11\n"), 89);
    for (const char* other : {"", "cpu", "cpu  1 2 3 4 5 6 7", "cpu0 1 2 3 4 5 6 7 8", "intr 1"}) {
        EXPECT_EQ(stolen_ticks(other), 0) << other;
    }
    EXPECT_GE(stolen_seconds(), 0);
}

TEST(progress, fits_any_width) {
    const terminal plain;
    for (int width = 1; width < 100; ++width) {
        for (const std::string_view step : {"Holdfast", "keeping 100000 leases", "注文"}) {
            const std::string line = draw(progress_view{"bench keeper", 3, 12, step}, width, plain);
            EXPECT_LT(columns(line), width) << line;
        }
    }
}

TEST(progress, shortens_the_bar_then_the_step_and_leaves_the_percentage) {
    const terminal plain;
    const auto at = [&](int width) {
        return draw(progress_view{"bench raw", 1, 4, "coroutines"}, width, plain);
    };
    const auto bar = [](int length) {
        std::string out;
        for (int i = 0; i < length; ++i) out += "━";
        return out;
    };
    EXPECT_EQ(at(80), "bench raw " + bar(24) + " coroutines");
    EXPECT_EQ(at(34), "bench raw " + bar(12) + " coroutines");
    EXPECT_EQ(at(26), "bench raw " + bar(8) + " corou…");
    EXPECT_EQ(at(20), "25%");
    EXPECT_EQ(at(3), "");
}

}  // namespace
}  // namespace holdfast::app
